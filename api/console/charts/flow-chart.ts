import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count } from '../parts.ts'

/** One end of the flows. */
export interface FlowEnd {
  readonly name: string
  /** Of the style sheet; says the colour. */
  readonly kind: string
}

/**
 * How things of some kinds become things of other kinds, as ribbons as wide as there are many. The ribbons
 * alone are stretched to the room there is; labels stand beside them and keep their size.
 * @param counts by the place of the start, then by that of the end
 */
export function flowChart(
  label: string,
  starts: readonly FlowEnd[],
  ends: readonly FlowEnd[],
  counts: readonly (readonly number[])[],
): Markup {
  const sum = (numbers: readonly number[]) => numbers.reduce((all, n) => all + n, 0)
  const total = Math.max(1, sum(counts.map(sum)))
  const left = stack(counts.map(sum), total)
  const right = stack(
    ends.map((_, k) => sum(counts.map((row) => row[k] ?? 0))),
    total,
  )
  const ribbons = starts.flatMap((_, i) =>
    ends.flatMap((end, k) => {
      const n = counts[i]?.[k] ?? 0
      const [from, to] = [left[i], right[k]]
      return n > 0 && from && to ? [ribbon(from.take(n), to.take(n), heightOf(n, total), end)] : []
    }),
  )
  const height = Math.ceil(Math.max(...[...left, ...right].map(({ y, height }) => y + height)))
  return html`<div class="flow" role="img" aria-label="${label}">
    <svg class="flow-side" height="${height}">
      ${starts.map((end, i) => endLabel(end, left[i], 'from'))}
    </svg>
    <svg width="100%" height="${height}" viewBox="0 0 100 ${height}" preserveAspectRatio="none">
      ${ribbons}
    </svg>
    <svg class="flow-side" height="${height}">
      ${ends.map((end, k) => endLabel(end, right[k], 'to'))}
    </svg>
  </div>`
}

function ribbon(from: number, to: number, height: number, { kind }: FlowEnd) {
  const [y1, y2] = [from.toFixed(1), to.toFixed(1)]
  const [z1, z2] = [(from + height).toFixed(1), (to + height).toFixed(1)]
  return html`<path
    class="ribbon ${kind}"
    d="M0 ${y1}C50 ${y1} 50 ${y2} 100 ${y2}V${z2}C50 ${z2} 50 ${z1} 0 ${z1}Z"
  />`
}

function endLabel({ name, kind }: FlowEnd, place: Place | undefined, side: 'from' | 'to') {
  if (!place || place.n === 0) return ''
  const x = side === 'from' ? '100%' : '0'
  const middle = place.y + place.height / 2
  return html`<rect
      class="end ${kind}"
      x="${x}"
      width="5"
      transform="translate(${side === 'from' ? -5 : 0})"
      y="${place.y.toFixed(1)}"
      height="${place.height.toFixed(1)}"
      rx="2"
    /><text
      class="${side}"
      x="${x}"
      dx="${side === 'from' ? -14 : 14}"
      y="${(middle + 1).toFixed(1)}"
      ><tspan class="many">${count(place.n)}</tspan> ${name}</text
    >`
}

/** The ends of one side below each other; those that nothing goes to take no room. */
function stack(sizes: readonly number[], total: number): Place[] {
  let y = 0
  return sizes.map((n) => {
    const own = Math.max(n > 0 ? LEAST : 0, heightOf(n, total))
    const place = { n, y, height: own, at: y, take: (part: number) => take(place, part) }
    y += own + (n > 0 ? GAP : 0)
    return place
  })

  function take(place: { at: number }, part: number) {
    const from = place.at
    place.at += heightOf(part, total)
    return from
  }
}

function heightOf(n: number, total: number) {
  return (n / total) * HEIGHT
}

const HEIGHT = 150
const GAP = 14
const LEAST = 14

interface Place {
  readonly n: number
  readonly y: number
  readonly height: number
  /** Gives room to a part, and returns where it begins. */
  readonly take: (n: number) => number
}
