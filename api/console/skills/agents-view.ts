import type { AnswerOf } from '../../endpoint.ts'
import { listSkillVersions } from '../../skills/list-skill-versions.ts'
import { listSubscriptions } from '../../skills/list-subscriptions.ts'
import { agentPath } from '../agents/agent-path.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Visit } from '../page.ts'
import { ago, sendButton } from '../parts.ts'
import type { Skill } from './skill.ts'

/** The agents that use the skill, each with the version that it is held to. */
export async function agentsView(
  { ask, now, mayWrite, principal }: Visit,
  { id }: Skill,
): Promise<Markup> {
  const params = { skill_name: id }
  const mayDelete = principal.permissions === 'admin'
  const [{ subscriptions, total }, { versions }] = await Promise.all([
    ask(listSubscriptions, { params, query: { limit: 200 } }),
    ask(listSkillVersions, { params, query: { limit: 100 } }),
  ])
  const numbers = new Map(versions.map((version) => [version.id, version.version_number]))
  return html`${
    subscriptions.length > 0
      ? html`<table class="rows" data-rows>
          <thead>
            <tr>
              <th>Agent</th>
              <th>Version</th>
              <th class="num">Since</th>
              ${mayDelete && html`<th><span class="visually-hidden">Stop</span></th>`}
            </tr>
          </thead>
          <tbody>
            ${subscriptions.map((each) => agentRow(each))}
          </tbody>
        </table>`
      : html`<p class="quiet held">No agent uses it.</p>`
  }
  ${total !== undefined && total > subscriptions.length && html`<p class="quiet">The first ${subscriptions.length} of ${total}.</p>`}
  ${mayWrite && assignForm(id, versions)}`

  function agentRow({ agent_name, version_id, project_id, subscribed_at }: Subscription) {
    const number = version_id === null ? undefined : numbers.get(version_id)
    return html`<tr>
      <td>
        <a data-row href="${agentPath({ agent_name, project: project_id })}"
          ><bdi>${agent_name}</bdi></a
        >
      </td>
      <td>${version_id === null ? 'the newest' : html`held to ${number ?? 'an older one'}`}</td>
      <td class="num quiet">${ago(subscribed_at, now)}</td>
      ${mayDelete && html`<td class="num">${sendButton('Stop', `DELETE /skills/${id}/assign`, { body: { agent_name, project: project_id }, kind: 'small' })}</td>`}
    </tr>`
  }
}

function assignForm(id: string, versions: readonly Version[]) {
  return html`<form class="filters" data-send="POST /api/v1/skills/${id}/assign">
    <input name="agent_name" required maxlength="256" placeholder="Agent" aria-label="Agent" />
    <label
      ><span class="visually-hidden">Version</span
      ><select name="version">
        <option value="">the newest version</option>
        ${versions.map(({ version_number: n }) => html`<option value="${n}">held to version ${n}</option>`)}
      </select></label
    >
    <button class="button">Have it use the skill</button>
    <p role="alert" class="error"></p>
  </form>`
}

type Subscription = AnswerOf<typeof listSubscriptions>['subscriptions'][number]
type Version = AnswerOf<typeof listSkillVersions>['versions'][number]
