import type { AnswerOf } from '../../endpoint.ts'
import { listViolations } from '../../manifests/list-violations.ts'
import { showAgent } from '../../manifests/show-agent.ts'
import { showAgentTopology } from '../../manifests/show-agent-topology.ts'
import { topologyChart } from '../charts/topology-chart.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import type { Query } from '../page.ts'
import { ago, badge, count, facts, plural, withQuery } from '../parts.ts'
import { verdictStrip } from '../traces/verdict-strip.ts'
import { tracePath } from '../traces/trace-path.ts'

const DAY_MS = 86_400_000
const SPANS = [
  { days: 1, text: 'last day' },
  { days: 7, text: 'last 7 days' },
  { days: 30, text: 'last 30 days' },
] as const

export const showAgentPage = page('/agents/{agent_name}', {
  area: 'agents',
  async show({ ask, params, query, now }) {
    const days = SPANS.find((span) => String(span.days) === query['days'])?.days ?? 7
    const since = new Date(now.getTime() - days * DAY_MS).toISOString()
    const asked = { project: query['project'] }
    const [agent, topology, violations] = await Promise.all([
      ask(showAgent, { params, query: asked }),
      ask(showAgentTopology, { params, query: asked }),
      ask(listViolations, { params, query: { ...asked, since, kind: query['kind'], limit: 50 } }),
    ])
    const { agent_name, latest_manifest: latest, verdict_counts, trace_count } = agent
    const { project_id: project } = agent
    return {
      title: agent_name,
      above: [{ title: 'Agents', href: '/console/agents' }],
      beside: html`<a class="button" href="${withQuery('/console/traces', { agent_name, project })}"
          >Traces</a
        >
        <a class="button" href="${withQuery('/console/regressions', { agent_name, project })}"
          >Regressions</a
        >`,
      body: html`${facts({
        Traces: count(trace_count),
        'Not judged': count(agent.unevaluated_count),
        Version:
          latest &&
          html`<a href="/console/manifests/${latest.manifest_id}">${latest.version_label}</a>`,
        Versions:
          agent.manifest_versions > 0 &&
          html`<a href="${withQuery('/console/manifests', { agent_name, project })}"
            >${count(agent.manifest_versions)}</a
          >`,
        'Last trace': ago(agent.last_trace_at, now),
        Role: agent.is_subagent && 'other agents give it work',
      })}
      ${verdictStrip({ total: trace_count, by_verdict: verdict_counts }, { agent_name, project })}
      ${
        topology.edges.length > 0 &&
        html`<section aria-labelledby="works">
          <h2 id="works">Works with</h2>
          ${topologyChart(topology.nodes, topology.edges, { current: agent_name, project })}
        </section>`
      }
      ${violationSection(violations, `/console/agents/${encodeURIComponent(agent_name)}`, { ...query, project, days: String(days) }, now)}`,
    }
  },
})

function violationSection(list: Violations, path: string, query: Query, now: Date) {
  const { violations, counts_by_kind, total } = list
  const kinds = Object.entries(counts_by_kind).filter(([, n]) => n > 0)
  const spans = SPANS.map(({ days, text }) => {
    const isCurrent = query['days'] === String(days)
    return html`<a
      href="${withQuery(path, query, { days: String(days) })}#violations"
      ${isCurrent && html` aria-current="true"`}
      >${text}</a
    >`
  })
  return html`<section aria-labelledby="violations">
    <div class="diff-head">
      <h2 id="violations">Violations</h2>
      <nav class="spans" aria-label="Time">${spans}</nav>
    </div>
    ${kinds.length > 0 && html`<p class="kinds">${kinds.map(([kind, n]) => html`<a class="tag" href="${withQuery(path, query, { kind: query['kind'] === kind ? undefined : kind })}#violations">${count(n)} ${kind.replaceAll('_', ' ')}${query['kind'] === kind && ' ✕'}</a> `)}</p>`}
    ${violations.length === 0 ? html`<p class="calm">The agent has kept to its manifest.</p>` : rows(violations, query['project'], now)}
    ${total > violations.length && html`<p class="quiet">The newest ${violations.length} of ${plural(total, 'violation')}.</p>`}
  </section>`
}

function rows(violations: Violations['violations'], project: string | undefined, now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Severity</th>
        <th>What</th>
        <th>Expected</th>
        <th>Observed</th>
        <th>Trace</th>
        <th class="num">When</th>
      </tr>
    </thead>
    <tbody>
      ${violations.map(
        (violation) =>
          html`<tr>
            <td>${badge(violation.severity, SEVERITIES[violation.severity] ?? 'plain')}</td>
            <td>
              ${violation.kind.replaceAll('_', ' ')}
              <p class="quiet"><bdi>${violation.subject.slice(0, 200)}</bdi></p>
            </td>
            <td><bdi>${violation.expected?.slice(0, 200)}</bdi></td>
            <td><bdi>${violation.observed?.slice(0, 200)}</bdi></td>
            <td>
              <a data-row href="${tracePath({ trace_id: violation.trace_id, project })}"
                ><code>${violation.trace_id}</code></a
              >
            </td>
            <td class="num quiet">${ago(violation.occurred_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

const SEVERITIES: Readonly<Record<string, 'bad' | 'warning'>> = { high: 'bad', medium: 'warning' }

type Violations = AnswerOf<typeof listViolations>
