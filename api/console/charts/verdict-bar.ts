import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import type { Verdict } from '../../../jobs/rules/core/verdicts.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count } from '../parts.ts'

/** How many traces come to which verdict, as one bar with the numbers below it. */
export function verdictBar(counts: Readonly<Record<Verdict, number>>): Markup {
  const words = VERDICTS.filter((word) => counts[word] > 0)
  const total = words.reduce((sum, word) => sum + counts[word], 0)
  if (total === 0) return html`<span class="quiet">none</span>`
  let at = 0
  return html`<div class="verdict-bar">
    <svg width="100%" height="8" aria-hidden="true">
      ${words.map((word) => {
        const share = (counts[word] / total) * 100
        const from = at
        at += share
        return html`<rect
          class="v-${word}"
          x="${from.toFixed(2)}%"
          width="${Math.max(0.5, share - 0.4).toFixed(2)}%"
          height="8"
          rx="2"
        />`
      })}
    </svg>
    <p>
      ${words.map((word) => html`<span class="v-${word}"><b>${count(counts[word])}</b> ${word}</span> `)}
    </p>
  </div>`
}
