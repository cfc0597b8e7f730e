import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import { shareBars } from '../charts/share-bars.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { count, percent, withQuery } from '../parts.ts'

/** All traces as one bar, each verdict a filter of the list below; a further click takes it away. */
export function verdictStrip(
  { total, by_verdict }: { total: number; by_verdict: Readonly<Record<string, number>> },
  filter: Query,
): Markup {
  if (total === 0) return html``
  const chosen = filter['verdict']
  const words = [...VERDICTS, 'none'].filter((word) => by_verdict[word])
  const bars = words.map((word) => ({
    kind: chosen !== undefined && chosen !== word ? `v-${word} dim` : `v-${word}`,
    n: by_verdict[word] ?? 0,
  }))
  return html`<section class="strip" aria-label="Verdicts">
    <svg width="100%" height="10" aria-hidden="true">${shareBars(bars, total)}</svg>
    <ul>
      ${words.map((word) => html`<li>${label(word, by_verdict[word] ?? 0)}</li>`)}
    </ul>
  </section>`

  function label(word: string, n: number) {
    const text = html`<i aria-hidden="true"></i
      ><b>${count(n)}</b> ${word === 'none' ? 'not judged' : word}
      <span class="quiet">${percent(n, total)}</span>`
    // Traces without a verdict are no filter of the list.
    if (word === 'none') return html`<span class="v-none">${text}</span>`
    const href = withQuery('/console/traces', filter, {
      verdict: chosen === word ? undefined : word,
    })
    return html`<a
      class="v-${word}"
      href="${href}"
      ${attributes({ 'aria-current': chosen === word && 'true' })}
      >${text}</a
    >`
  }
}
