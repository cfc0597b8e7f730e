import { policyHash } from '../../../jobs/rules/evals/decision-policy.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listPolicyVersions } from '../../evals/list-policy-versions.ts'
import { previewPolicy } from '../../evals/preview-policy.ts'
import { showPolicy } from '../../evals/show-policy.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { listProjects } from '../../org/list-projects.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import type { Query } from '../page.ts'
import { ago, choice, withQuery } from '../parts.ts'
import { askedSettings, queryOf, settingsOf } from './asked-policy.ts'
import { organizationTabs } from './organization-tabs.ts'
import { policyForm } from './policy-form.ts'
import { policyPreview, saveButton } from './policy-preview.ts'

const PATH = '/console/organization/policy'

export const showPolicyPage = page('/organization/policy', {
  area: 'organization',
  async show({ ask, query, now, mayWrite }) {
    const { project, agent_name } = query
    const owner = { project, agent_name }
    const [policy, { versions }, { agents }, { projects }] = await Promise.all([
      ask(showPolicy, { query: owner }),
      ask(listPolicyVersions, { query: { ...owner, limit: 20 } }),
      ask(listAgents, { query: { project, limit: 100 } }),
      ask(listProjects, { query: { limit: 100 } }),
    ])
    const settings = askedSettings(query, policy)
    const isAsked = query['preview'] !== undefined
    const preview = isAsked
      ? await ask(previewPolicy, { query: { ...owner, ...queryOf(settings) } })
      : undefined
    const isOwn = (policy.agent_name ?? undefined) === (agent_name || undefined)
    const isHeld = isOwn && policyHash(settings) === policy.content_hash
    const save = isHeld
      ? html`<p class="quiet">These are the settings that hold.</p>`
      : mayWrite && preview && saveButton(settings, owner, preview.total)
    return {
      title: 'Organization',
      body: html`${organizationTabs('Decision policy')}
        ${ownerForm(
          owner,
          agents.map((agent) => agent.agent_name),
          projects.map(({ name }) => name),
        )}
        <p class="held">${heldBy(policy, agent_name, now)}</p>
        <div class="columns">
          ${policyForm(PATH, owner, settings)}
          ${preview ? policyPreview(preview, project, save) : explanation()}
        </div>
        ${versions.length > 0 && versionTable(versions, owner, now)}`,
    }
  },
})

function ownerForm(
  { project, agent_name }: Query,
  agents: readonly string[],
  projects: readonly string[],
) {
  const named = [...new Set([...agents, ...(agent_name ? [agent_name] : [])])]
  return html`<form class="filters" action="${PATH}">
    ${projects.length > 1 && choice('project', 'Project', projects, project)}
    <label
      ><span class="visually-hidden">Agent</span
      ><select name="agent_name" data-submit>
        <option value="">All agents without settings of their own</option>
        ${named.map((name) => html`<option${attributes({ value: name, selected: name === agent_name })}>${name}</option>`)}
      </select></label
    >
    <button class="button">Show</button>
  </form>`
}

function heldBy(policy: Policy, agent: string | undefined, now: Date) {
  const since = policy.created_at && html`, set ${ago(policy.created_at, now)}`
  const whose = policy.agent_name ? html`<bdi>${policy.agent_name}</bdi> is` : 'The project is'
  if (policy.version === 0) return 'The default policy holds, since none was ever set.'
  const follows =
    agent && !policy.agent_name
      ? html` <bdi>${agent}</bdi> follows the project until it has settings of its own.`
      : ''
  return html`${whose} decided on by version
    <b>${policy.version}</b> (${policy.preset})${since}.${follows}`
}

function explanation() {
  return html`<section class="card would" aria-labelledby="would">
    <h2 id="would">Before you save</h2>
    <p class="quiet">
      Change the settings, then see how many recorded verdicts would be others: the newest 1,000
      traces are judged again in memory, with everything that is known of them. Only then can the
      settings be saved, as a new version. No version is ever changed.
    </p>
  </section>`
}

function versionTable(versions: readonly Policy[], owner: Query, now: Date): Markup {
  return html`<section aria-labelledby="versions">
    <h2 id="versions">Versions</h2>
    <table class="rows" data-rows>
      <thead>
        <tr>
          <th>Version</th>
          <th>Preset</th>
          <th class="num">Keep from</th>
          <th class="num">Drop below</th>
          <th>Weights</th>
          <th class="num">Set</th>
        </tr>
      </thead>
      <tbody>
        ${versions.map((version) => {
          const query = { ...owner, ...queryOf(settingsOf(version)), preview: '1' }
          const { human, verifier, third_party, custom, builtin } = version.source_weights
          return html`<tr>
            <td><a data-row href="${withQuery(PATH, query)}">v${version.version}</a></td>
            <td>${version.preset}</td>
            <td class="num">${version.thresholds.keep_at}</td>
            <td class="num">${version.thresholds.drop_at}</td>
            <td class="quiet">
              people ${human} · verifiers ${verifier} · judges ${third_party} · own ${custom} ·
              built-ins ${builtin}
            </td>
            <td class="num quiet">${ago(version.created_at, now)}</td>
          </tr>`
        })}
      </tbody>
    </table>
  </section>`
}

type Policy = AnswerOf<typeof showPolicy>
