import type { AnswerOf } from '../../endpoint.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { diffManifests } from '../../manifests/diff-manifests.ts'
import { showBisect } from '../../regression/show-bisect.ts'
import { versionChart } from '../charts/version-chart.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, curlLine, emptyState, hiddenProject, sendButton, tabs, withQuery } from '../parts.ts'
import { findingPanel } from './finding-panel.ts'

const PATH = '/console/regressions'
/** Findings whose change is looked up, each by one question. */
const MAX_CHANGES = 5

export const showRegressionsPage = page('/regressions', {
  area: 'regressions',
  async show(visit) {
    const { ask, query, now, mayWrite, address } = visit
    const { metric } = query
    const { agents } = await ask(listAgents, { query: { project: query['project'], limit: 50 } })
    const agent_name = query['agent_name'] || agents[0]?.agent_name
    // Names repeat over projects.
    const project =
      query['project'] || agents.find((agent) => agent.agent_name === agent_name)?.project_id
    if (agent_name === undefined) return { title: 'Regressions', body: noAgents(address) }
    const bisect = await ask(showBisect, { params: { agent_name }, query: { project, metric } })
    const isListed = agents.some((agent) => agent.agent_name === agent_name)
    const links = [...agents, ...(isListed ? [] : [{ agent_name, project_id: project }])].map(
      (agent) => ({
        text: html`<bdi>${agent.agent_name}</bdi>`,
        href: withQuery(PATH, { agent_name: agent.agent_name, project: agent.project_id }),
        isCurrent:
          agent.agent_name === agent_name &&
          (Boolean(query['project']) || agent.project_id === project),
      }),
    )
    const open = bisect.findings.filter(({ status }) => status === 'open')
    return {
      title: 'Regressions',
      beside: mayWrite
        ? sendButton('Look again', `POST /agents/${encodeURIComponent(agent_name)}/bisect`, {
            body: { metric: bisect.metric, ...(project && { project }) },
          })
        : undefined,
      body: html`${tabs('Agents', links, html`${metricForm(agent_name, project, bisect.metric)} ${bisect.computed_at && html`<span>computed ${ago(bisect.computed_at, now)}</span>`}`)}
      ${bisect.versions.length === 0 ? noVersions(address, agent_name) : html`${versionChart(bisect.versions, open)}${power(bisect)}`}
      ${await findings(visit, bisect, project)}
      ${bisect.versions.length > 1 && open.length === 0 && html`<p class="calm">No version is worse than the one before by more than chance explains.</p>`}
      ${
        bisect.versions.length > 0 &&
        html`${versionTable(bisect, now)}
          <p class="quiet note">
            A change of the prompt alone makes no version, so that it cannot be told apart here:
            give versions a model, tools or a configuration of their own.
          </p>`
      }`,
    }
  },
})

async function findings(
  { ask, mayWrite, now }: Visit,
  { findings }: Bisect,
  project: string | undefined,
): Promise<Markup> {
  const shown = await Promise.all(
    findings.map(async (finding, i) => {
      const { manifest_id } = finding
      const change =
        manifest_id === null || i >= MAX_CHANGES
          ? undefined
          : await ifFound(ask(diffManifests, { params: { manifest_id } }))
      return findingPanel(finding, change?.diff ?? undefined, { mayWrite, now, project })
    }),
  )
  return html`${shown}`
}

/** What could have gone unseen between the two newest versions. */
function power({ versions }: Bisect) {
  const [before, newest] = versions.slice(-2)
  if (!newest || newest.mde === null) return ''
  return html`<p class="quiet note">
    A drop of <b>${newest.mde.toFixed(2)}</b> or more from ${before?.version_label} to
    ${newest.version_label} would have been seen in four of five cases; a smaller one needs more
    traces.
  </p>`
}

function versionTable({ versions }: Bisect, now: Date) {
  return html`<section aria-labelledby="versions">
    <h2 id="versions">Versions</h2>
    <table class="rows" data-rows>
      <thead>
        <tr>
          <th>Version</th>
          <th>Active since</th>
          <th class="num">Traces</th>
          <th class="num">Mean</th>
          <th class="num">95 % interval</th>
          <th class="num">Passed</th>
          <th class="num">Smallest visible drop</th>
        </tr>
      </thead>
      <tbody>
        ${versions.toReversed().map((version) => {
          const { manifest_id, version_label, n, mean, ci95_low, ci95_high, pass_rate, mde } =
            version
          return html`<tr>
            <td><a data-row href="/console/manifests/${manifest_id}">${version_label}</a></td>
            <td class="quiet">${ago(new Date(version.activated_at), now)}</td>
            <td class="num">${n}</td>
            <td class="num">${mean?.toFixed(3) ?? '–'}</td>
            <td class="num">
              ${ci95_low === null || ci95_high === null ? '–' : `${ci95_low.toFixed(3)} – ${ci95_high.toFixed(3)}`}
            </td>
            <td class="num">${pass_rate === null ? '–' : `${Math.round(pass_rate * 100)} %`}</td>
            <td class="num wide">${mde?.toFixed(3) ?? '–'}</td>
          </tr>`
        })}
      </tbody>
    </table>
  </section>`
}

function metricForm(agent_name: string, project: string | undefined, metric: string) {
  return html`<form class="metric" action="${PATH}">
    <input type="hidden" name="agent_name" value="${agent_name}" />
    ${hiddenProject(project)}
    <label
      >Metric <input name="metric" value="${metric}" maxlength="256" size="14" data-submit
    /></label>
  </form>`
}

function noAgents(address: string) {
  return emptyState(
    'No agents yet',
    'An agent is known as soon as a trace or a manifest names it. Register the first version of yours:',
    curlLine(address, 'POST /manifests', {
      agent_name: 'my-agent',
      components: [{ component_type: 'model', component_name: 'large-2' }],
    }),
  )
}

function noVersions(address: string, agent: string) {
  return emptyState(
    'No versions to compare',
    'Versions are compared once traces name the manifest that they were made with, and a first look was taken:',
    curlLine(address, `POST /agents/${encodeURIComponent(agent)}/bisect`, {}),
  )
}

type Bisect = AnswerOf<typeof showBisect>
