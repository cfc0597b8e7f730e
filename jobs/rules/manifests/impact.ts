import { describe } from './change-sentence.ts'
import type { CompatTally } from './compat-tally.ts'
import { worstSeverity } from './manifest-diff.ts'
import type { Severity, SurfaceChange } from './surface-change.ts'

export type Risk = 'high' | 'medium' | 'low'

export interface Impact {
  /** Null when nothing has changed. */
  readonly severity: Risk | null
  readonly severity_reason: string
  readonly human_summary: string
}

/**
 * What a change of one surface means to the traffic that used it: never less than without traffic, high
 * where calls that are made are refused from now on or may be, at least medium where it breaks.
 * @param affected traces that used it
 */
export function riskOf(change: SurfaceChange, affected: number): Risk {
  if (affected === 0) return 'low'
  if (isDrastic(change)) return 'high'
  const risk = RISK_OF[change.severity]
  return risk === 'low' && change.breaking ? 'medium' : risk
}

/** How much a change may matter where no traffic shows it; null when nothing has changed. */
export function structuralSeverity(changes: readonly SurfaceChange[]): Risk | null {
  const worst = worstSeverity(changes)
  return worst && RISK_OF[worst]
}

/** What a transition means as a whole: by its traffic, or by its structure where there is none. */
export function impactOf(changes: readonly SurfaceChange[], tally: CompatTally): Impact {
  const effective = changes.filter(({ state }) => state !== 'doc_only')
  const summary = summarize(effective, tally)
  if (effective.length === 0) {
    return { severity: null, severity_reason: 'Nothing has changed', human_summary: summary }
  }
  if (tally.total_episodes === 0) {
    const severity = structuralSeverity(changes)
    const severity_reason = 'By structure only: no recorded trace tells'
    return { severity, severity_reason, human_summary: summary }
  }
  const [worst] = effective
    .map((change) => {
      const affected = tally.surfaces[change.surface]?.affected ?? 0
      return { change, affected, risk: riskOf(change, affected) }
    })
    .sort((a, b) => RISKS.indexOf(b.risk) - RISKS.indexOf(a.risk) || b.affected - a.affected)
  if (!worst) throw new RangeError('A change without a risk')
  return {
    severity: worst.risk,
    severity_reason: `${describe(worst.change)}; used by ${traces(worst.affected)}`,
    human_summary: summary,
  }
}

function isDrastic({ change_type, component_type, details, state }: SurfaceChange) {
  if (change_type === 'skill_removed') return true
  return (
    component_type === 'tool' &&
    state === 'changed' &&
    details.some(({ change, role, required, relation }) => {
      const isRefused = role === 'arguments' && required && relation === 'breaking'
      return isRefused || change === 'schema_unverifiable'
    })
  )
}

function summarize(changes: readonly SurfaceChange[], tally: CompatTally) {
  if (changes.length === 0) return 'No structural change.'
  const told = changes.slice(0, TOLD).map(describe).join('; ')
  const more = changes.length > TOLD ? ` and ${changes.length - TOLD} more` : ''
  const { total_episodes: total, affected_trace_count: affected } = tally
  if (total === 0) return `${told}${more}. No recorded trace tells what this affects.`
  const { keep, repair, replay, drop } = tally
  return `${told}${more}. ${affected} of ${traces(total)} use what has changed: ${keep} keep, ${repair} repair, ${replay} replay, ${drop} drop.`
}

function traces(n: number) {
  return `${n} ${n === 1 ? 'trace' : 'traces'}`
}

/** From the least to the worst. */
export const RISKS: readonly Risk[] = ['low', 'medium', 'high']
const RISK_OF: Readonly<Record<Severity, Risk>> = {
  minor: 'low',
  moderate: 'medium',
  major: 'high',
}
const TOLD = 5
