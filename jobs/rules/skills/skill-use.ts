import { welch } from '../regression/statistics.ts'
import { wilsonBound } from './skill-score.ts'

/** What the newest traces say that used a skill. */
export interface SkillUse {
  name: string
  /** The newest of them. */
  traces: number
  /** There are more that used the skill. */
  is_capped: boolean
  /** Traces whose scores come to pass, review or fail. */
  judged: number
  /** Mean over these, where review is half a pass; null where there is none. */
  pass_rate: number | null
  /** Of the sample; null below two judged traces. */
  pass_variance: number | null
  /** Mean of the quality averages, 0 to 1; null where no trace has one. */
  quality: number | null
  /** Mean of a trace, input and output; null without traces. */
  tokens: number | null
}

/** The best first: what a skill shows at the least, so that few good traces come after many. */
export function rankUses(uses: readonly SkillUse[]) {
  return uses
    .map((use) => ({ use, score: scoreOf(use) }))
    .toSorted((a, b) => (b.score ?? -1) - (a.score ?? -1) || (a.use.name < b.use.name ? -1 : 1))
}

/** How the traces of a version differ from those of another one: that less this; null without a mean. */
export interface UseComparison {
  pass_rate: number | null
  quality: number | null
  tokens: number | null
  /** Two-sided, of the pass rates; null where there are too few judged traces to tell. */
  p_value: number | null
  verdict: (typeof COMPARISON_VERDICTS)[number]
}

export const COMPARISON_VERDICTS = ['improved', 'worse', 'no_difference', 'too_few'] as const

/**
 * By Welch's t test of the pass rates, where the traces are taken for independent of each other.
 */
export function compareUses(from: SkillUse, to: SkillUse): UseComparison {
  const deltas = {
    pass_rate: less(to.pass_rate, from.pass_rate),
    quality: less(to.quality, from.quality),
    tokens: less(to.tokens, from.tokens),
  }
  if (Math.min(from.judged, to.judged) < LEAST_JUDGED) {
    return { ...deltas, p_value: null, verdict: 'too_few' }
  }
  const { delta, p_value } = welch(armOf(from), armOf(to))
  if (p_value >= SIGNIFICANT) return { ...deltas, p_value, verdict: 'no_difference' }
  return { ...deltas, p_value, verdict: delta > 0 ? 'improved' : 'worse' }
}

/** The lower bound of the pass rate; null where no trace was judged. */
function scoreOf({ pass_rate, judged }: SkillUse) {
  return pass_rate === null ? null : wilsonBound(pass_rate, judged)
}

function armOf({ judged: n, pass_rate, pass_variance }: SkillUse) {
  const [mean, variance] = [pass_rate ?? 0, (pass_variance ?? 0) / n]
  return { n, clusters: n, mean, variance, freedom: n - 1 }
}

function less(to: number | null, from: number | null) {
  return to === null || from === null ? null : to - from
}

/** Judged traces of either version. */
export const LEAST_JUDGED = 10
const SIGNIFICANT = 0.05
