import { html } from '../html.ts'
import type { Markup } from '../html.ts'

/**
 * Differences between -1 and 1 as bars up and down from a line, the best one first.
 * @param summary what the chart says, for who does not see it
 */
export function deltaBars(deltas: readonly number[], summary: string): Markup {
  const sorted = deltas.toSorted((a, b) => b - a)
  const largest = sorted.reduce((most, delta) => Math.max(most, Math.abs(delta)), 0.1)
  const width = 100 / Math.max(12, sorted.length)
  return html`<svg width="100%" height="${HEIGHT}" role="img" aria-label="${summary}">
    <line class="grid-line" x2="100%" y1="${HEIGHT / 2}" y2="${HEIGHT / 2}" />
    ${sorted.map((delta, i) => {
      const height = Math.max(1, (Math.abs(delta) / largest) * (HEIGHT / 2 - 2))
      const y = delta >= 0 ? HEIGHT / 2 - height : HEIGHT / 2
      return html`<rect
        class="fill ${delta > 0 ? 'good' : delta < 0 ? 'bad' : 'middling'}"
        x="${(i * width + width * 0.1).toFixed(3)}%"
        width="${(width * 0.8).toFixed(3)}%"
        y="${y.toFixed(1)}"
        height="${height.toFixed(1)}"
        rx="2"
      />`
    })}
    <text class="tick" x="100%" y="12" text-anchor="end">better, +${largest.toFixed(2)}</text>
    <text class="tick" y="${HEIGHT - 4}">worse, −${largest.toFixed(2)}</text>
  </svg>`
}

const HEIGHT = 120
