import { TRACE_STATUSES } from '../../../jobs/rules/traces/trace.ts'
import { listDatasets } from '../../datasets/list-datasets.ts'
import { showEvalHistogram } from '../../evals/show-eval-histogram.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { listManifests } from '../../manifests/list-manifests.ts'
import { listTraces } from '../../traces/list-traces.ts'
import { showTraceStats } from '../../traces/show-trace-stats.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { KeyList } from '../layout.ts'
import { page } from '../page.ts'
import type { Query } from '../page.ts'
import { choice, curlLine, emptyState, pager, totalOf, withQuery } from '../parts.ts'
import { buildDialog } from './build-dialog.ts'
import { qualityHistogram } from './quality-histogram.ts'
import { replayDialog } from './replay-dialog.ts'
import { selectionBar } from './selection.ts'
import { traceTable } from './trace-table.ts'
import { verdictStrip } from './verdict-strip.ts'

const PATH = '/console/traces'
/** The members of the query that choose traces. */
export const FILTERS = [
  'agent_name',
  'manifest_id',
  'verdict',
  'status',
  'q',
  'session_id',
  'parent_trace_id',
  'source_type',
  'project',
  'tool',
  'tag',
  'min_score',
  'max_score',
] as const

export const listTracesPage = page('/traces', {
  area: 'traces',
  async show({ ask, query, now, address, mayWrite }) {
    const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
    const { agent_name, project } = filter
    const [list, stats, qualities, { agents }, manifests, datasets] = await Promise.all([
      ask(listTraces, { query: { ...filter, cursor: query['cursor'], limit: 50 } }),
      ask(showTraceStats, { query: { agent_name, project } }),
      ask(showEvalHistogram, { query: { agent_name, project } }),
      ask(listAgents, { query: { project, limit: 100 } }),
      mayWrite ? ask(listManifests, { query: { agent_name, project, limit: 100 } }) : undefined,
      mayWrite ? ask(listDatasets, { query: { project, limit: 100 } }) : undefined,
    ])
    const isFiltered = Object.values(filter).some(Boolean)
    const names = agents.map((agent) => agent.agent_name)
    const total = totalOf(list, 'trace')
    const hasTraces = list.traces.length > 0
    const versions = hasTraces ? manifests?.manifests : undefined
    return {
      title: 'Traces',
      keys: versions ? KEYS : [],
      beside:
        hasTraces && datasets
          ? html`<button type="button" class="button" data-open="build">Build a dataset</button>`
          : undefined,
      body: html`${stats.total > 0 && html`<div class="overview">${verdictStrip(stats, filter)}${qualityHistogram(qualities, filter)}</div>`}
      ${(hasTraces || isFiltered) && filters(filter, names, total)}
      ${hasTraces ? html`${traceTable(list.traces, now, mayWrite)}${pager(PATH, query, list.next_cursor)}` : isFiltered ? noMatch() : noTraces(address)}
      ${versions && html`${selectionBar({ areAllOffered: manifests?.next_cursor === null })}${replayDialog(versions)}`}
      ${hasTraces && datasets && buildDialog(datasets.datasets, filter, total)}`,
    }
  },
})

function filters(filter: Query, agents: readonly string[], total: string): Markup {
  const { q, agent_name, status, ...kept } = filter
  const { verdict: _, min_score, max_score, ...tags } = kept
  const others = Object.entries(kept).filter(([, value]) => value)
  const tag = (text: string, change: Query) =>
    html`<a class="tag" href="${withQuery(PATH, filter, change)}" title="Take this filter away"
      ><bdi>${text}</bdi> ✕</a
    >`
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
    ${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button class="button">Filter</button>
    ${(q || agent_name || status || others.length > 0) && html`<a class="link" href="${PATH}">Clear</a>`}
    ${Object.entries(tags).map(([name, value]) => value && tag(`${name.replaceAll('_', ' ')} ${value}`, { [name]: undefined }))}
    ${(min_score || max_score) && tag(`score ${Number(min_score ?? 0).toFixed(2)} to ${Number(max_score ?? 1).toFixed(2)}`, { min_score: undefined, max_score: undefined })}
    <span class="total">${total}</span>
  </form>`
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

const KEYS: KeyList = [
  ['x', 'Select the row'],
  ['Escape', 'Select none'],
]
