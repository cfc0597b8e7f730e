import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge } from '../parts.ts'
import type { Tone } from '../parts.ts'

/** How a verdict of a check looks; null while it runs, or where it failed. */
export function toneOfCheck(verdict: string | null): Tone {
  return TONES[verdict ?? ''] ?? 'plain'
}

export function checkBadge({
  verdict,
  status,
}: {
  verdict: string | null
  status: string
}): Markup {
  if (verdict !== null) return badge(verdict.replaceAll('_', ' '), toneOfCheck(verdict))
  return status === 'running' ? badge('running', 'busy') : badge('failed', 'bad')
}

/** What people decided, where they did. */
export function decisionBadge(decision: string | null): Markup {
  if (decision === null) return html`<span class="quiet">open</span>`
  return badge(decision, decision === 'accepted' ? 'good' : 'bad')
}

const TONES: Readonly<Record<string, Tone>> = {
  high_risk: 'bad',
  medium_risk: 'warning',
  low_risk: 'good',
  no_change: 'good',
}
