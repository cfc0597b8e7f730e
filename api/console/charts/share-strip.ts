import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Tone } from '../parts.ts'
import { count, percent } from '../parts.ts'
import { shareBars } from './share-bars.ts'

/** A part of a whole: its word beside its colour. */
export interface Share {
  readonly word: string
  readonly n: number
  readonly tone: Tone
  /** Where its members are listed. */
  readonly href?: string | undefined
  readonly isCurrent?: boolean
}

/** Parts of a whole as one bar with a legend; parts of which there is nothing are left out. */
export function shareStrip(label: string, shares: readonly Share[]): Markup {
  const shown = shares.filter(({ n }) => n > 0)
  const total = shown.reduce((sum, { n }) => sum + n, 0)
  const bars = shown.map(({ n, tone }) => ({ kind: `tone-${tone}`, n }))
  return html`<div class="strip shares" role="group" aria-label="${label}">
    <svg width="100%" height="10" aria-hidden="true">
      <rect class="track" width="100%" height="10" rx="3" />
      ${shareBars(bars, total)}
    </svg>
    <ul>
      ${shown.map(({ word, n, tone, href, isCurrent }) => {
        const text = html`<i class="tone-${tone}" aria-hidden="true"></i><b>${count(n)}</b> ${word}
          <span class="quiet">${percent(n, total)}</span>`
        return href === undefined
          ? html`<li><span class="v-plain">${text}</span></li>`
          : html`<li>
              <a href="${href}" ${attributes({ 'aria-current': isCurrent && 'true' })}>${text}</a>
            </li>`
      })}
    </ul>
  </div>`
}
