import { html } from '../html.ts'
import type { Markup } from '../html.ts'

export interface Delta {
  readonly delta: number
  readonly ci: readonly number[] | null
  readonly mde: number | null
  readonly verdict: string
}

/** A scale from the lowest to the highest of several changes, with none in it. */
export function deltaScale(deltas: readonly Delta[]): (value: number) => number {
  const values = deltas.flatMap(({ delta, ci, mde }) => [delta, ...(ci ?? []), -(mde ?? 0)])
  const low = Math.min(-0.01, ...values.filter(Number.isFinite))
  const high = Math.max(0.01, ...values.filter(Number.isFinite))
  return (value) => 3 + ((value - low) / (high - low)) * 94
}

/** A change with its interval beside where none would be; the dashed line is the smallest that shows. */
export function deltaChart(
  { delta, ci, mde, verdict }: Delta,
  x: (value: number) => number,
): Markup {
  const at = (value: number) => `${Math.min(100, Math.max(0, x(value))).toFixed(2)}%`
  const [low, high] = ci ?? []
  return html`<svg class="delta ${verdict}" width="100%" height="22" aria-hidden="true">
    <line class="zero" x1="${at(0)}" x2="${at(0)}" y2="22" />
    ${mde !== null && html`<line class="bound" x1="${at(-mde)}" x2="${at(-mde)}" y1="3" y2="19" />`}
    ${low !== undefined && high !== undefined && html`<rect class="interval" x="${at(low)}" width="${Math.max(0.6, x(high) - x(low)).toFixed(2)}%" y="8" height="6" rx="3" />`}
    <circle class="mean" cx="${at(delta)}" cy="11" r="4.5" />
  </svg>`
}
