import { SPLITS } from '../../../jobs/rules/datasets/recipe.ts'
import { listRows } from '../../datasets/list-rows.ts'
import type { ReadRow } from '../../datasets/list-rows.ts'
import { histogram } from '../charts/histogram.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query, Visit } from '../page.ts'
import { count, emptyState, plural, verdictBadge, withQuery } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'
import { funnel } from './funnel.ts'
import { messagesOf, rowContent } from './row-content.ts'
import { splitBar } from './split-bar.ts'
import { pathOf } from './version.ts'
import type { Version } from './version.ts'

const FILTERS = ['split', 'min_tokens', 'max_tokens', 'min_messages', 'max_messages'] as const
const ROWS = 20

/** How the rows came to be, how long they are, and the rows themselves. */
export async function rowsView({ ask, params, query }: Visit, version: Version): Promise<Markup> {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const page = { ...filter, cursor: query['cursor'], limit: ROWS }
  const list = await ask(listRows, { params, query: page })
  const path = pathOf(version)
  const { lengths, split_counts } = version
  const linkOf = (change: Query) => `${withQuery(path, filter, change)}#rows`
  return html`<div class="made">
      ${funnel(version)}
      <section aria-labelledby="lengths">
        <h2 id="lengths">What the rows are like</h2>
        ${split_counts && splitBar(split_counts, (split) => linkOf({ split }))}
        ${lengths && lengths.tokens.length > 0 && LENGTHS.map(({ unit, title }) => histogram({ unit, title, bins: lengths[unit], chosen: chosenOf(filter, unit), linkOf: ({ from, to }) => linkOf({ [`min_${unit}`]: String(from), [`max_${unit}`]: String(to) }) }))}
      </section>
    </div>
    <section aria-labelledby="rows">
      <h2 id="rows">Rows</h2>
      ${filterLine(version, filter, linkOf)}
      ${list.rows.length > 0 ? rowTable(list.rows, version, query) : noRows(version, list.next_cursor !== null, path)}
      ${pages(path, query, list.next_cursor)}
    </section>
    ${nearDuplicates(list.near_duplicates, version)}`
}

const LENGTHS = [
  { unit: 'tokens', title: 'Tokens of a row' },
  { unit: 'messages', title: 'Messages of a row' },
] as const

function chosenOf(filter: Query, unit: string) {
  const [from, to] = [filter[`min_${unit}`], filter[`max_${unit}`]]
  return from !== undefined && to !== undefined ? { from: Number(from), to: Number(to) } : undefined
}

function filterLine(version: Version, filter: Query, linkOf: (change: Query) => string) {
  const { split } = filter
  const taken = LENGTHS.flatMap(({ unit }) => {
    const [from, to] = [filter[`min_${unit}`], filter[`max_${unit}`]]
    if (from === undefined && to === undefined) return []
    const text = from === to ? `${from} ${unit}` : `${from ?? 0} to ${to ?? 'any'} ${unit}`
    return [{ text, href: linkOf({ [`min_${unit}`]: undefined, [`max_${unit}`]: undefined }) }]
  })
  const used = SPLITS.filter((name) => version.split_counts?.[name])
  return html`<div class="filters">
    <nav class="segments" aria-label="Splits">
      ${[undefined, ...used].map((name) => html`<a href="${linkOf({ split: name })}" ${name === split && html` aria-current="true"`}>${name ?? 'all'} <span class="quiet">${count(name ? version.split_counts?.[name] : version.row_count)}</span></a>`)}
    </nav>
    ${taken.map(({ text, href }) => html`<a class="tag" href="${href}" title="Take this filter away">${text} ✕</a>`)}
  </div>`
}

function rowTable(rows: readonly ReadRow[], version: Version, query: Query) {
  const path = pathOf(version)
  const opened = query['row']
  return html`<table class="rows dataset-rows" data-rows>
    <thead>
      <tr>
        <th class="num">Row</th>
        <th>Asked and answered</th>
        <th>Split</th>
        <th class="num">Tokens</th>
        <th class="num">Messages</th>
        <th>Trace</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map((row) => tableRow(row))}
    </tbody>
  </table>`

  function tableRow(row: ReadRow) {
    const isOpen = String(row.ordinal) === opened
    const { asked, answered } = previewOf(row)
    const change = { row: isOpen ? undefined : String(row.ordinal) }
    return html`<tr id="row-${row.ordinal}">
        <td class="num quiet">${row.ordinal}</td>
        <td class="io">
          <a
            data-row
            href="${withQuery(path, query, change)}#row-${row.ordinal}"
            aria-expanded="${String(isOpen)}"
            ><bdi>${asked}</bdi></a
          >
          <p><bdi>${answered}</bdi></p>
        </td>
        <td>
          ${row.split}${row.label !== undefined && html` <span class="tag">${row.label ? 'good' : 'bad'}</span>`}
        </td>
        <td class="num">${count(row.token_estimate)}<span class="unit"> tokens</span></td>
        <td class="num">${messagesOf(row).length}<span class="unit"> messages</span></td>
        <td class="from">${traceLinks(row, version)}</td>
      </tr>
      ${
        isOpen &&
        html`<tr class="opened">
          <td colspan="6">${rowContent(row)}</td>
        </tr>`
      }`
  }
}

function traceLinks({ provenance, span_id }: ReadRow, { project_id }: Version) {
  const { trace_id, verdict, repaired, rejected, pair_source } = provenance
  const link = tracePath({ trace_id, project: project_id })
  return html`<a href="${link}"><code>${trace_id.slice(0, 60)}</code></a>
    <p>
      ${verdictBadge(verdict)}
      ${span_id !== null && html`<a class="link" href="${link}#span-${encodeURIComponent(span_id)}">span</a>`}
      ${repaired && html`<span class="tag">repaired</span>`}
      ${pair_source && html`<span class="tag">${pair_source}</span>`}
    </p>
    ${
      rejected &&
      rejected.trace_id !== trace_id &&
      html`<p class="quiet">
        against
        <a class="link" href="${tracePath({ trace_id: rejected.trace_id, project: project_id })}"
          ><code>${rejected.trace_id.slice(0, 60)}</code></a
        >
      </p>`
    }`
}

/** What somebody asked last, and what was answered. */
function previewOf(row: ReadRow) {
  const messages = messagesOf(row)
  const asked = messages.find(({ role }) => role === 'user' || role === 'human')
  const answered = messages.at(-1)
  return {
    asked: asked?.text.slice(0, 200) || 'Without a question',
    answered: answered?.text.slice(0, 200) || 'Without a text',
  }
}

function noRows(version: Version, isMore: boolean, path: string) {
  if (version.row_count === 0) {
    return emptyState('The version has no rows', 'The funnel above says what left the traces out.')
  }
  const text = isMore
    ? 'None of the rows looked at so far has this length; look further.'
    : 'No row of the split has this length.'
  const clear = html`<a class="button" href="${path}#rows">Show all rows</a>`
  return emptyState('No row here', text, clear)
}

function pages(path: string, query: Query, next: string | null) {
  const at = (cursor: string | undefined) =>
    `${withQuery(path, query, { cursor, row: undefined })}#rows`
  return html`<nav class="pager" aria-label="Pages">
    ${query['cursor'] && html`<a class="button" href="${at(undefined)}">First rows</a>`}${next && html`<a class="button" rel="next" href="${at(next)}">Next rows</a>`}
  </nav>`
}

/** Samples of what was left out because it says almost the same as a row that is in. */
function nearDuplicates(samples: readonly NearDuplicate[], { project_id }: Version) {
  if (samples.length === 0) return ''
  const shown = samples.slice(0, 10)
  return html`<section>
    <details>
      <summary>
        ${plural(samples.length, 'sample')} of rows that were almost the same as another
      </summary>
      <table class="rows keep-table">
        <thead>
          <tr>
            <th>Left out</th>
            <th>Kept</th>
            <th class="num">Shared</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(
            ({ row, kept, similarity }) =>
              html`<tr>
                <td>${side(row)}</td>
                <td>${side(kept)}</td>
                <td class="num">${Math.round(similarity * 100)} %</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`

  function side({ trace_id, split }: { trace_id: string; split: string }) {
    return html`<a href="${tracePath({ trace_id, project: project_id })}"
        ><code>${trace_id.slice(0, 60)}</code></a
      >
      <span class="quiet">${split}</span>`
  }
}

interface NearDuplicate {
  readonly row: { readonly trace_id: string; readonly split: string }
  readonly kept: { readonly trace_id: string; readonly split: string }
  readonly similarity: number
}
