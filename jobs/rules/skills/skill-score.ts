import { round4 } from '../core/round.ts'
/** Older evidence does not count. */
export const EVIDENCE_DAYS = 90

/** Paired cases of benchmark runs, of which neither arm had an error. */
export interface BenchEvidence {
  readonly cases: number
  /** With the skill. */
  readonly passed: number
  /** Passed without the skill and failed with it. */
  readonly flippedToFail: number
  /** Another key of the owner, or three other organizations, came to about the same pass rate. */
  readonly isReproduced: boolean
}

/** Evaluated traces in which the skill was used. */
export interface LiveEvidence {
  readonly traces: number
  /** One that is to be reviewed is half of one. */
  readonly passed: number
}

export interface RatingEvidence {
  readonly count: number
  /** 0 to 1. */
  readonly mean: number
}

/** What was observed of a skill; null, or none of it, where nothing was. */
export interface SkillEvidence {
  readonly bench: BenchEvidence | null
  readonly live: LiveEvidence | null
  readonly rating: RatingEvidence | null
}

/** Each value from 0 to 1 with four decimals; null without evidence. */
export interface SkillScore {
  /** 0 new, 1 provisional, 2 supported, 3 verified. Skills are ranked by it before they are by score. */
  readonly tier: 0 | 1 | 2 | 3
  readonly score: number | null
  readonly bench: number | null
  readonly live: number | null
  readonly rating: number | null
}

/**
 * Scores a skill: the mean of what its legs show at the least, each weighing more the more was observed.
 * A leg without evidence neither helps nor harms.
 */
export function scoreSkill(evidence: SkillEvidence): SkillScore {
  const { bench, live, rating } = withoutEmpty(evidence)
  const legs = {
    bench: bench && { value: benchValue(bench), weight: weigh(bench.cases, WEIGHTS.bench) },
    live: live && {
      value: wilsonBound(live.passed / live.traces, live.traces),
      weight: weigh(live.traces, WEIGHTS.live),
    },
    // Wilson's bound is for shares. It holds for means of 0 to 1 too: their variance is never above that
    // of a share, m(1 - m).
    rating: rating && {
      value: wilsonBound(rating.mean, rating.count),
      weight: weigh(rating.count, WEIGHTS.rating),
    },
  }
  return {
    tier: tierOf({ bench, live, rating }),
    score: weightedMean(Object.values(legs).filter((leg) => leg !== null)),
    bench: legs.bench && round4(legs.bench.value),
    live: legs.live && round4(legs.live.value),
    rating: legs.rating && round4(legs.rating.value),
  }
}

/**
 * The lower bound of Wilson's 95 % interval of a share of `count` observations: few good ones come to less
 * than many. E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal
 * of the American Statistical Association 22 (1927), 209-212.
 * @param share 0 to 1
 * @param count above 0
 */
export function wilsonBound(share: number, count: number): number {
  const z2 = Z * Z
  const middle = share + z2 / (2 * count)
  const spread = Z * Math.sqrt((share * (1 - share)) / count + z2 / (4 * count * count))
  // Of a share of 0 rounding may leave a little less than 0.
  return Math.max(0, (middle - spread) / (1 + z2 / count))
}

/** A case that the skill broke counts twice: it is not passed, and it is harm. */
function benchValue({ cases, passed, flippedToFail }: BenchEvidence) {
  return Math.max(0, wilsonBound(passed / cases, cases) - flippedToFail / cases)
}

function weigh(count: number, { most, half }: Weight) {
  return (most * count) / (count + half)
}

function weightedMean(legs: readonly { value: number; weight: number }[]) {
  if (legs.length === 0) return null
  const weights = legs.reduce((sum, { weight }) => sum + weight, 0)
  return round4(legs.reduce((sum, { value, weight }) => sum + value * weight, 0) / weights)
}

/**
 * Legs with little evidence do not keep a skill down whose other legs have enough: else its first rating
 * would cost a skill its tier.
 */
function tierOf({ bench, live, rating }: SkillEvidence): SkillScore['tier'] {
  const [cases, traces, ratings] = [bench?.cases ?? 0, live?.traces ?? 0, rating?.count ?? 0]
  if (cases + traces + ratings === 0) return 0
  const isVerified = cases >= VERIFIED.cases && traces >= VERIFIED.traces
  if (isVerified && bench?.isReproduced) return 3
  const enough = [
    cases >= SUPPORTED.cases,
    traces >= SUPPORTED.traces,
    ratings >= SUPPORTED.ratings,
  ].filter(Boolean).length
  return enough >= 2 ? 2 : 1
}

function withoutEmpty({ bench, live, rating }: SkillEvidence): SkillEvidence {
  return {
    bench: bench && bench.cases > 0 ? bench : null,
    live: live && live.traces > 0 ? live : null,
    rating: rating && rating.count > 0 ? rating : null,
  }
}

interface Weight {
  /** With endless evidence. */
  readonly most: number
  /** With so many observations it has half of that. */
  readonly half: number
}

/** The standard normal deviate that 97.5 % lie below. */
const Z = 1.959963984540054
const WEIGHTS = {
  bench: { most: 0.5, half: 10 },
  live: { most: 0.3, half: 30 },
  rating: { most: 0.2, half: 30 },
} as const satisfies Record<string, Weight>
const SUPPORTED = { cases: 10, traces: 20, ratings: 20 } as const
const VERIFIED = { cases: 20, traces: 30 } as const
