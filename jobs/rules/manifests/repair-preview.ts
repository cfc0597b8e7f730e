import { hashRepairRules } from './repair-rules.ts'
import type { RepairListRule } from './repair-rules.ts'

/** What a trial of the rules on a sample of traces shows. It is the result of a job. */
export interface RepairPreview {
  /** Why there is nothing to show; null where there is. */
  readonly message: string | null
  readonly rules: readonly PreviewedRule[]
  readonly rules_hash: string
  /** Newest first. */
  readonly previews: readonly PreviewedTrace[]
  /** The traces of the sample that rules may repair. */
  readonly total_eligible: number
  readonly total_sampled: number
}

export interface PreviewedRule extends Omit<RepairListRule, 'rule'> {
  /** Eligible traces of the sample that the rule was applied to. */
  readonly used_by: number
  /** The share of them whose calls fit the new schemas afterwards, 4 decimals; 0 when there are none. */
  readonly confidence: number
}

/** A trace before and after: the messages and calls that differ. */
export interface PreviewedTrace extends Shown {
  readonly trace_id: string
}

interface Shown {
  readonly before: unknown
  readonly after: unknown
}

/** What came of a trace of the sample; rules by their indices. */
export type TriedRepair =
  | { readonly kind: 'repaired'; readonly rules: readonly number[]; readonly shown: Shown | null }
  | {
      readonly kind: 'failed'
      /** Those that it would have used, and those of them whose calls fit afterwards. */
      readonly rules: readonly number[]
      readonly fitting: readonly number[]
    }
  | { readonly kind: 'ineligible' | 'skipped' | 'given_up' }

/**
 * Gathers what came of a sample of traces.
 * @param limit how many traces are shown
 */
export function openPreview(rules: readonly RepairListRule[], limit: number) {
  const [used, fitting] = [new Map<number, number>(), new Map<number, number>()]
  const previews: PreviewedTrace[] = []
  let [eligible, sampled] = [0, 0]
  return {
    /** Call it with the oldest first. */
    add(trace_id: string, repair: TriedRepair) {
      sampled++
      if (repair.kind === 'ineligible') return
      eligible++
      if (repair.kind !== 'repaired' && repair.kind !== 'failed') return
      for (const index of repair.rules) used.set(index, (used.get(index) ?? 0) + 1)
      const fitted = repair.kind === 'repaired' ? repair.rules : repair.fitting
      for (const index of fitted) fitting.set(index, (fitting.get(index) ?? 0) + 1)
      if (repair.kind === 'failed' || !repair.shown) return
      previews.push({ trace_id, ...repair.shown })
      if (previews.length > limit) previews.shift()
    },
    result(): RepairPreview {
      return {
        message: messageOf(rules.length, sampled, eligible),
        rules: rules.map(({ rule: _, ...rule }) => {
          const used_by = used.get(rule.rule_index) ?? 0
          const fit = fitting.get(rule.rule_index) ?? 0
          return { ...rule, used_by, confidence: used_by && round(fit / used_by) }
        }),
        rules_hash: hashRepairRules(rules),
        previews: previews.toReversed(),
        total_eligible: eligible,
        total_sampled: sampled,
      }
    },
  }
}

function messageOf(rules: number, sampled: number, eligible: number) {
  if (rules === 0) return 'No rule leads from the one manifest to the other'
  if (sampled === 0) return 'No trace was recorded under the old manifest'
  return eligible === 0 ? 'No trace of the sample is one that rules may repair' : null
}

function round(share: number) {
  return Math.round(share * 10_000) / 10_000
}
