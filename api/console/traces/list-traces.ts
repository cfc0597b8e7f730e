import { TRACE_STATUSES } from '../../../jobs/rules/traces/trace.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { listTraces } from '../../traces/list-traces.ts'
import { showTraceStats } from '../../traces/show-trace-stats.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import type { Query } from '../page.ts'
import {
  ago,
  choice,
  count,
  curlLine,
  duration,
  emptyState,
  excerpt,
  pager,
  plural,
  scoreBar,
  totalOf,
  verdictBadge,
  withQuery,
} from '../parts.ts'
import { verdictStrip } from './verdict-strip.ts'

const PATH = '/console/traces'
const FILTERS = [
  'agent_name',
  'verdict',
  'status',
  'q',
  'session_id',
  'project',
  'tool',
  'tag',
] as const

export const listTracesPage = page('/traces', {
  area: 'traces',
  async show({ ask, query, now, address }) {
    const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
    const { agent_name, project } = filter
    const [list, stats, { agents }] = await Promise.all([
      ask(listTraces, { query: { ...filter, cursor: query['cursor'], limit: 50 } }),
      ask(showTraceStats, { query: { agent_name, project } }),
      ask(listAgents, { query: { project, limit: 100 } }),
    ])
    const isFiltered = Object.values(filter).some(Boolean)
    const names = agents.map((agent) => agent.agent_name)
    return {
      title: 'Traces',
      body: html`${verdictStrip(stats, filter)}
      ${stats.total + list.traces.length > 0 || isFiltered ? filters(filter, names, totalOf(list, 'trace')) : ''}
      ${list.traces.length > 0 ? html`${rows(list.traces, now)}${pager(PATH, query, list.next_cursor)}` : isFiltered ? noMatch() : noTraces(address)}`,
    }
  },
})

function filters(filter: Query, agents: readonly string[], total: string): Markup {
  const { q, agent_name, status, verdict, ...others } = filter
  const kept = Object.entries({ verdict, ...others }).filter(([, value]) => value)
  return html`<form class="filters" role="search" action="${PATH}">
    <label class="search"
      ><span class="visually-hidden">Search input, output and errors</span
      ><input
        type="search"
        name="q"
        value="${q}"
        placeholder="Search input, output and errors"
        maxlength="512"
      /><kbd aria-hidden="true">/</kbd></label
    >
    ${choice('agent_name', 'Agent', [...new Set([...agents, ...(agent_name ? [agent_name] : [])])], agent_name)}
    ${choice('status', 'Status', TRACE_STATUSES, status)}
    ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button class="button">Filter</button>
    ${(q || agent_name || status || kept.length > 0) && html`<a class="link" href="${PATH}">Clear</a>`}
    ${Object.entries(others).map(([name, value]) => value && html`<a class="tag" href="${withQuery(PATH, filter, { [name]: undefined })}" title="Take this filter away">${name.replace('_', ' ')} ${value} ✕</a>`)}
    <span class="total">${total}</span>
  </form>`
}

function rows(traces: TraceList['traces'], now: Date): Markup {
  return html`<table class="rows traces" data-rows>
    <thead>
      <tr>
        <th>Verdict</th>
        <th>Input and output</th>
        <th>Agent</th>
        <th>Score</th>
        <th class="num">Took</th>
        <th class="num">Tokens</th>
        <th class="num">Started</th>
      </tr>
    </thead>
    <tbody>
      ${traces.map(
        (trace) =>
          html`<tr>
            <td>${verdictBadge(trace.verdict, trace.needs_review ?? false)}${reasonOf(trace)}</td>
            <td class="io">
              <a
                data-row
                href="${withQuery(`${PATH}/${encodeURIComponent(trace.trace_id)}`, { project: trace.project === 'default' ? undefined : trace.project })}"
                ><bdi>${excerpt(trace.user_input_preview || trace.trace_id)}</bdi></a
              >${preview(trace)}
            </td>
            <td>
              ${trace.agent_name}
              <p class="quiet">
                ${plural(trace.llm_call_count, 'call')} · ${plural(trace.tool_call_count, 'tool')}
              </p>
            </td>
            <td>${scoreBar(trace.eval_score)}</td>
            <td class="num">
              ${trace.status === 'running' ? 'running' : duration(trace.duration_ms)}
            </td>
            <td class="num wide">
              ${count((trace.input_tokens ?? 0) + (trace.output_tokens ?? 0))}
            </td>
            <td class="num quiet">${ago(trace.started_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function preview({ error_message, final_output_preview, status }: TraceList['traces'][number]) {
  if (error_message) return html`<p class="error"><bdi>${excerpt(error_message)}</bdi></p>`
  const text = final_output_preview || (status === 'running' ? 'Still running' : 'No output')
  return html`<p><bdi>${excerpt(text)}</bdi></p>`
}

/** A good score is the reason that everybody expects. */
function reasonOf({ reason_code }: TraceList['traces'][number]) {
  if (reason_code === null || reason_code === 'score.good') return ''
  return html`<p class="quiet reason">${reason_code}</p>`
}

function noMatch() {
  return emptyState(
    'No trace matches',
    'Take a word or a filter away.',
    html`<a class="button" href="${PATH}">Clear all filters</a>`,
  )
}

function noTraces(address: string) {
  return emptyState(
    'No traces yet',
    'A trace is one recorded execution of an agent. Send the first one:',
    curlLine(address, 'POST /traces', {
      agent_name: 'my-agent',
      user_input_preview: 'What is 6 times 7?',
      final_output_preview: '6 times 7 is 42.',
    }),
  )
}

type TraceList = AnswerOf<typeof listTraces>
