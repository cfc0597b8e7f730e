import { SPLITS } from '../../../jobs/rules/datasets/recipe.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, percent } from '../parts.ts'

type Counts = Readonly<Record<string, number>>

/** The rows of each split as one bar; with `linkOf`, each split leads to its rows. */
export function splitBar(counts: Counts, linkOf?: (split: string) => string): Markup {
  const used = SPLITS.filter((name) => counts[name])
  const total = used.reduce((sum, name) => sum + (counts[name] ?? 0), 0)
  let at = 0
  const bars = used.map((name) => {
    const share = ((counts[name] ?? 0) / total) * 100
    const from = at
    at += share
    return html`<rect
      class="s-${name}"
      x="${from.toFixed(2)}%"
      width="${Math.max(0.3, share - 0.3).toFixed(2)}%"
      height="10"
      rx="3"
    />`
  })
  return html`<div class="splits">
    <svg width="100%" height="10" aria-hidden="true">${bars}</svg>
    <ul>
      ${used.map((name) => html`<li class="s-${name}">${label(name)}</li>`)}
    </ul>
  </div>`

  function label(name: string) {
    const n = counts[name] ?? 0
    const text = html`<i aria-hidden="true"></i><b>${count(n)}</b> ${name}
      <span class="quiet">${percent(n, total)}</span>`
    return linkOf ? html`<a href="${linkOf(name)}">${text}</a>` : html`<span>${text}</span>`
  }
}
