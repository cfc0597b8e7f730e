import { count, recordOf, shape } from '../../shape.ts'
import type { Valid } from '../../shape.ts'

/** What the repair of many traces comes to. Part of checkpoints, so it is plain JSON. */
export const repairTally = shape({
  repaired: count(),
  skipped: count(),
  failed: count(),
  /** By index: the repaired traces that the rule was applied to. */
  rules: recordOf(count()),
})

export type RepairTally = Valid<typeof repairTally>

/** A trace that could not be repaired, and why, as a word for programs. */
export interface RepairFailure {
  readonly trace_id: string
  readonly code: string
}

/** What came of one trace. */
export type TalliedRepair =
  | { readonly kind: 'repaired'; readonly rules: readonly number[] }
  /** It fits as it is, or no rule makes it fit. */
  | { readonly kind: 'ineligible' }
  /** It needs a rule that was not approved. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'failed'; readonly code: string }
  /** It takes more than there is for one trace. */
  | { readonly kind: 'given_up' }

/** It was changed or deleted after it was read. */
export const TRACE_CHANGED: TalliedRepair = { kind: 'failed', code: 'trace_changed' }

export function emptyRepairTally(): RepairTally {
  return { repaired: 0, skipped: 0, failed: 0, rules: {} }
}

/** Adds one trace. Returns why it failed; undefined when it did not. */
export function tallyRepair(tally: RepairTally, outcome: TalliedRepair): string | undefined {
  switch (outcome.kind) {
    case 'ineligible':
      return undefined
    case 'skipped':
      tally.skipped++
      return undefined
    case 'repaired':
      tally.repaired++
      for (const index of outcome.rules) tally.rules[index] = (tally.rules[index] ?? 0) + 1
      return undefined
    case 'failed':
    case 'given_up':
      tally.failed++
      return outcome.kind === 'failed' ? outcome.code : 'trace_not_examinable'
  }
}

/** Failures of a batch that are told one by one, the first ones. */
export const MAX_REPAIR_FAILURES = 1000
