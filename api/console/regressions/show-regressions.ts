import type { AnswerOf } from '../../endpoint.ts'
import { diffManifests } from '../../manifests/diff-manifests.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { showBisect } from '../../regression/show-bisect.ts'
import { bisectChart } from '../charts/bisect-chart.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, count, curlLine, emptyState, sendButton, withQuery } from '../parts.ts'
import { agentTabs, chooseAgent } from './agent-tabs.ts'
import { findingCard, metricName } from './finding-card.ts'
import { suspectsOf } from './suspects.ts'

const PATH = '/console/regressions'

export const showRegressionsPage = page('/regressions', {
  area: 'regressions',
  async show(visit) {
    const { ask, query, now } = visit
    const { agents } = await ask(listAgents, { query: { limit: 100 } })
    const agent_name = query['agent_name'] ?? chooseAgent(agents)?.agent_name
    if (!agent_name) return { title: 'Regressions', body: noAgents(visit) }
    const { project } = query
    const metric = query['metric'] ?? 'quality_avg'
    const bisect = await ask(showBisect, { params: { agent_name }, query: { metric, project } })
    const { versions, findings } = bisect
    const changes = await askChanges(visit, findings)
    const shown = versions.slice(-MAX_CHARTED)
    const computed = bisect.computed_at
      ? html`computed ${ago(bisect.computed_at, now)}`
      : 'never computed'
    return {
      title: 'Regressions',
      beside: visit.mayWrite
        ? lookButton('Look again', { agent_name, metric, project })
        : undefined,
      body: html`${agentTabs(PATH, agents, { agent_name, project }, html`<span>${metricName(metric)} · ${computed}</span>`)}
      ${versions.length === 0 ? nothingToCompare(visit, { agent_name, metric, project }) : bisectChart(shown, suspectsOf(shown, findings))}
      ${versions.length > 0 && findings.length === 0 && html`<p class="calm none-found">✓ No version is worse than the one before beyond what chance explains.</p>`}
      ${findings.slice(0, MAX_FINDINGS).map((finding) => findingCard(finding, { project, now, mayWrite: visit.mayWrite, change: changes.get(finding.id) }))}
      ${findings.length > MAX_FINDINGS && html`<p class="quiet">${findings.length - MAX_FINDINGS} older regressions are not shown.</p>`}
      ${versions.length > 0 && versionTable(versions, visit)}${promptNote()}${metricForm({ agent_name, metric, project })}`,
    }
  },
})

/** What the versions of the newest open regressions changed, by regression. */
async function askChanges({ ask }: Visit, findings: Bisect['findings']) {
  const open = findings.filter(({ status, manifest_id }) => status === 'open' && manifest_id)
  const asked = open.slice(0, MAX_DIFFS).map(async ({ id, manifest_id }) => {
    const answer = await ifFound(ask(diffManifests, { params: { manifest_id } }))
    return [id, answer?.diff ?? undefined] as const
  })
  return new Map(await Promise.all(asked))
}

function versionTable(versions: Bisect['versions'], { now }: Visit): Markup {
  const newest = versions.toReversed()
  return html`<section aria-labelledby="versions">
    <h2 id="versions">Versions</h2>
    <table class="rows versions" data-rows>
      <thead>
        <tr>
          <th>Version</th>
          <th>Active since</th>
          <th class="num">Traces</th>
          <th class="num">Mean</th>
          <th class="num">95 % interval</th>
          <th class="num">Passed</th>
          <th class="num">Smallest drop seen</th>
        </tr>
      </thead>
      <tbody>
        ${newest.slice(0, MAX_ROWS).map(
          (version) =>
            html`<tr>
              <td>
                <a data-row href="/console/manifests/${version.manifest_id}"
                  ><b>${version.version_label}</b></a
                >
              </td>
              <td class="quiet">${ago(new Date(version.activated_at), now)}</td>
              <td class="num" data-label="traces">${count(version.n)}</td>
              <td class="num" data-label="mean">${number(version.mean)}</td>
              <td class="num" data-label="interval">
                ${version.ci95_low === null ? '–' : html`${number(version.ci95_low)} – ${number(version.ci95_high)}`}
              </td>
              <td class="num" data-label="passed">
                ${version.pass_rate === null ? '–' : `${Math.round(version.pass_rate * 100)} %`}
              </td>
              <td class="num" data-label="smallest drop">${number(version.mde)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${newest.length > MAX_ROWS && html`<p class="quiet">The newest ${MAX_ROWS} of ${count(newest.length)} are listed.</p>`}
  </section>`
}

function promptNote() {
  return html`<p class="aside">
    <b>A change of the prompt alone makes no version.</b> A version is told by the tools and models
    of its manifest, unless the client sends a <code>manifest_hash</code> of its own. A prompt that
    made things worse shows here as a drift within a version.
  </p>`
}

function metricForm({ agent_name, metric, project }: Looked) {
  return html`<form class="filters" action="${PATH}">
    <input type="hidden" name="agent_name" value="${agent_name}" />
    ${project && html`<input type="hidden" name="project" value="${project}" />`}
    <label class="metric"
      >Metric <input name="metric" value="${metric}" maxlength="200" required
    /></label>
    <button class="button">Show</button>
    <span class="quiet"><code>quality_avg</code>, or the name of a score</span>
  </form>`
}

function nothingToCompare({ mayWrite }: Visit, looked: Looked) {
  const traces = withQuery('/console/manifests', { agent_name: looked.agent_name })
  return emptyState(
    'Nothing to compare yet',
    html`Versions are compared by what their traces scored. Register a manifest, name it in traces
      as <code>manifest_hash</code>, and look again.`,
    mayWrite
      ? lookButton('Look for regressions', looked, 'primary')
      : html`<a class="button" href="${traces}">To its manifests</a>`,
  )
}

function noAgents({ address }: Visit) {
  return emptyState(
    'No agents yet',
    'An agent is known as soon as a manifest or a trace names it. Register the first version:',
    curlLine(address, 'POST /manifests', {
      agent_name: 'my-agent',
      components: [{ component_type: 'model', component_name: 'gpt-4o' }],
    }),
  )
}

function lookButton(
  text: string,
  { agent_name, metric, project }: Looked,
  kind: 'primary' | '' = '',
) {
  return sendButton(text, `POST /agents/${encodeURIComponent(agent_name)}/bisect`, {
    body: { metric, ...(project && { project }) },
    kind,
  })
}

function number(value: number | null) {
  return value === null ? '–' : value.toFixed(3)
}

const MAX_CHARTED = 12
const MAX_ROWS = 50
const MAX_FINDINGS = 10
const MAX_DIFFS = 3

type Bisect = AnswerOf<typeof showBisect>
interface Looked {
  readonly agent_name: string
  readonly metric: string
  readonly project: string | undefined
}
