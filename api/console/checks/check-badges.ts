import type { CheckVerdict } from '../../../jobs/rules/regression/check-findings.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, stateBadge } from '../parts.ts'
import type { Tone } from '../parts.ts'

/** The verdict of a check, or its state where it has none. */
export function checkBadge({
  verdict,
  status,
}: {
  verdict: CheckVerdict | null
  status: string
}): Markup {
  if (verdict === null) return stateBadge(status)
  return badge(
    html`<i aria-hidden="true">${SIGNS[verdict]}</i>${verdict.replaceAll('_', ' ')}`,
    TONES[verdict],
  )
}

/** What a person decided on a check, if anybody did. */
export function decisionBadge(decision: string | null): Markup {
  if (decision === null) return html`<span class="quiet">not decided</span>`
  return stateBadge(decision)
}

export const TONES: Readonly<Record<CheckVerdict, Tone>> = {
  high_risk: 'bad',
  medium_risk: 'warning',
  low_risk: 'good',
  no_change: 'good',
  unverified: 'warning',
  first_run: 'plain',
}
const SIGNS: Readonly<Record<CheckVerdict, string>> = {
  high_risk: '✕',
  medium_risk: '!',
  low_risk: '✓',
  no_change: '✓',
  unverified: '?',
  first_run: '·',
}
