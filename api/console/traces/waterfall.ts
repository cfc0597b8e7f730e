import type { Span } from '../../../jobs/rules/traces/trace.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { duration } from '../parts.ts'

/** Spans that a page shows; a browser scrolls through so many without effort. */
const MAX_SHOWN = 400

/** Spans as a tree against time, each a link to its content. Lengths are shares, so that it fits any width. */
export function waterfall(spans: readonly Span[]): Markup {
  const rows = inTreeOrder(spans)
  const times = rows
    .flatMap(({ span }) => [timeOf(span.started_at), timeOf(span.ended_at)])
    .filter(Number.isFinite)
  const from = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY)
  const until = times.reduce((most, time) => Math.max(most, time), Number.NEGATIVE_INFINITY)
  const length = Math.max(1, until - from)
  const share = (time: number) => ((time - from) / length) * 100
  if (rows.length === 0) return html`<p class="waterfall quiet">No spans were recorded.</p>`
  return html`<div class="waterfall" data-rows>
    ${times.length > 0 && html`<div class="ruler" aria-hidden="true"><span></span><svg width="100%" height="22">${[0, 25, 50, 75, 100].map((at) => html`<text x="${at}%" y="14" class="at-${at}">${duration((length * at) / 100)}</text>`)}</svg></div>`}
    <ol>
      ${rows.slice(0, MAX_SHOWN).map((row) => html`<li>${spanRow(row, share)}</li>`)}
    </ol>
    ${rows.length > MAX_SHOWN && html`<p class="quiet">${rows.length - MAX_SHOWN} further spans are not drawn.</p>`}
  </div>`
}

function spanRow({ span, depth }: Row, share: (time: number) => number) {
  const start = share(timeOf(span.started_at))
  const end = share(timeOf(span.ended_at))
  const isTimed = Number.isFinite(start) && Number.isFinite(end)
  const took = timeOf(span.ended_at) - timeOf(span.started_at)
  const isLate = end > 76
  const failed = span.status === 'error'
  return html`<a
    data-row
    href="#${anchorOf(span)}"
    class="span t-${span.span_type}${failed && ' failed'}"
  >
    <span class="name d${Math.min(depth, 8)}"
      ><i class="kind" aria-hidden="true"></i><span class="visually-hidden">${span.span_type} </span
      ><bdi>${span.name}</bdi>${failed && html` <em>failed</em>`}</span
    >
    <svg width="100%" height="28" aria-hidden="true">
      ${[25, 50, 75].map((at) => html`<line class="grid-line" x1="${at}%" x2="${at}%" y2="28" />`)}${isTimed && html`<rect class="bar" x="${start.toFixed(3)}%" width="${Math.max(0.4, end - start).toFixed(3)}%" y="8" height="12" rx="3" /><text class="took${isLate && ' before'}" x="${(isLate ? start : end).toFixed(3)}%" dx="${isLate ? -6 : 6}" y="18">${duration(took)}</text>`}
    </svg>
  </a>`
}

/** The fragment of a span; ids are clients' and may hold anything. */
export function anchorOf({ id }: Span): string {
  return `span-${encodeURIComponent(id)}`
}

/** The spans that a page shows, in the order of the tree. */
export function shownSpans(spans: readonly Span[]): Span[] {
  return inTreeOrder(spans)
    .slice(0, MAX_SHOWN)
    .map(({ span }) => span)
}

/** Parents before their children. A span whose parent is not there stands at the top; none comes twice. */
function inTreeOrder(spans: readonly Span[]): Row[] {
  const known = new Set(spans.map(({ id }) => id))
  const children = Map.groupBy(spans, ({ id, parent_span_id: parent }) =>
    parent !== null && parent !== id && known.has(parent) ? parent : '',
  )
  const rows: Row[] = []
  const seen = new Set<Span>()
  const open = rowsBelow('', 0)
  for (let row = open.pop(); row; row = open.pop()) {
    if (seen.has(row.span)) continue
    seen.add(row.span)
    rows.push(row)
    for (const below of rowsBelow(row.span.id, row.depth + 1)) open.push(below)
  }
  // Spans that are each other's parents hang from nothing.
  for (const span of spans) if (!seen.has(span)) rows.push({ span, depth: 0 })
  return rows

  /** The last one first, as a stack takes them. */
  function rowsBelow(parent: string, depth: number): Row[] {
    return (children.get(parent) ?? []).toReversed().map((span) => ({ span, depth }))
  }
}

function timeOf(iso: string | null) {
  return iso === null ? Number.NaN : Date.parse(iso)
}

interface Row {
  readonly span: Span
  readonly depth: number
}
