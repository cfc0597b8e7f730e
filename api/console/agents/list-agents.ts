import type { AnswerOf } from '../../endpoint.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { showTopology } from '../../manifests/show-topology.ts'
import { topologyChart } from '../charts/topology-chart.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, count, curlLine, emptyState, withQuery } from '../parts.ts'
import { agentPath } from './agent-path.ts'

const PATH = '/console/agents'
const LIMIT = 100

export const listAgentsPage = page('/agents', {
  area: 'agents',
  async show({ ask, query, now, address }) {
    const { project } = query
    const offset = Number(query['offset'] ?? 0)
    const [list, { nodes, edges }] = await Promise.all([
      ask(listAgents, { query: { project, limit: LIMIT, offset: query['offset'] } }),
      ask(showTopology, { query: { project } }),
    ])
    const next = offset + LIMIT < list.total ? String(offset + LIMIT) : undefined
    return {
      title: 'Agents',
      body: html`${edges.length > 0 && topologyChart(nodes, edges, { project })}
      ${list.agents.length === 0 ? nothing(address) : rows(list.agents, now)}
      ${next && html`<nav class="pager" aria-label="Pages"><a class="button" rel="next" href="${withQuery(PATH, query, { offset: next })}">Further agents</a></nav>`}`,
    }
  },
})

function rows(agents: AnswerOf<typeof listAgents>['agents'], now: Date) {
  return html`<section aria-label="Agents">
    <table class="rows" data-rows>
      <thead>
        <tr>
          <th>Agent</th>
          <th>Version</th>
          <th class="num">Traces</th>
          <th class="num">Not judged</th>
          <th class="num">Last trace</th>
        </tr>
      </thead>
      <tbody>
        ${agents.map(
          ({ agent_name, project_id, latest_manifest: latest, ...agent }) =>
            html`<tr>
              <td>
                <a data-row href="${agentPath({ agent_name, project: project_id })}"
                  ><bdi>${agent_name}</bdi></a
                >
                ${agent.is_subagent && badge('subagent')} ${agent.is_fixture && badge('fixture')}
              </td>
              <td>
                ${latest ? html`<a href="/console/manifests/${latest.manifest_id}">${latest.version_label}</a>` : html`<span class="quiet">none</span>`}
              </td>
              <td class="num">${count(agent.trace_count)}</td>
              <td class="num wide">${count(agent.unevaluated_count)}</td>
              <td class="num quiet">${ago(agent.last_trace_at, now)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`
}

function nothing(address: string) {
  return emptyState(
    'No agents yet',
    'An agent is known as soon as a trace or a manifest names it:',
    curlLine(address, 'POST /traces', { agent_name: 'my-agent', user_input_preview: 'Hello' }),
  )
}
