/** What a benchmark of a skill found: each case is run with the skill and without it. */

/** How one of the two runs of a case ended. */
export const ARM_OUTCOMES = ['passed', 'failed', 'errored', 'not_attempted'] as const
export type ArmOutcome = (typeof ARM_OUTCOMES)[number]

export interface BenchmarkCase {
  readonly case_id: string
  readonly with: ArmOutcome
  readonly without: ArmOutcome
  readonly tokens?: Arms | undefined
  readonly turns?: Arms | undefined
}

/** A figure of both runs of a case. */
export interface Arms {
  readonly with: number
  readonly without: number
}

export interface BenchmarkCounts {
  cases: number
  /** Cases that had an error in either run. */
  errored: number
  /** Cases that both runs attempted without an error: all that follows is of these. */
  compared: number
  passed_with: number
  passed_without: number
  /** Passed without the skill and failed with it. */
  flipped_to_fail: number
  /** Sums over the cases that tell both; null where none does. */
  tokens_with: number | null
  tokens_without: number | null
  turns_with: number | null
  turns_without: number | null
  /** Too many cases had an error for the others to stand for all. */
  voided: boolean
}

export function countCases(cases: readonly BenchmarkCase[]): BenchmarkCounts {
  const errored = count(cases, (each) => each.with === 'errored' || each.without === 'errored')
  const compared = cases.filter((each) => isGraded(each.with) && isGraded(each.without))
  const tokens = sumArms(compared.map((each) => each.tokens))
  const turns = sumArms(compared.map((each) => each.turns))
  return {
    cases: cases.length,
    errored,
    compared: compared.length,
    passed_with: count(compared, (each) => each.with === 'passed'),
    passed_without: count(compared, (each) => each.without === 'passed'),
    flipped_to_fail: count(compared, (each) => each.without === 'passed' && each.with === 'failed'),
    tokens_with: tokens?.with ?? null,
    tokens_without: tokens?.without ?? null,
    turns_with: turns?.with ?? null,
    turns_without: turns?.without ?? null,
    voided: errored > MAX_ERRORED_SHARE * cases.length,
  }
}

export const BENCHMARK_VERDICTS = ['pass', 'fail', 'mixed', 'error'] as const

/** What is shown of a run. Deltas are what the skill adds; null where there is nothing to compare. */
export interface BenchmarkSummary {
  /** Whether all compared cases passed with the skill, none did, or some; error for a run that is void. */
  verdict: (typeof BENCHMARK_VERDICTS)[number]
  passed_cases: number
  total_cases: number
  /** In points of 100. */
  pass_rate_delta_pts: number | null
  /** No case passed without the skill and failed with it. */
  never_hurt: boolean
  tokens_delta_pct: number | null
  turns_delta_pct: number | null
}

export function summarizeBenchmark(counts: BenchmarkCounts): BenchmarkSummary {
  const { compared, passed_with, passed_without } = counts
  return {
    verdict: verdictOf(counts),
    passed_cases: passed_with,
    total_cases: counts.cases,
    pass_rate_delta_pts:
      compared === 0 ? null : round((100 * (passed_with - passed_without)) / compared),
    never_hurt: counts.flipped_to_fail === 0,
    tokens_delta_pct: deltaPercent(counts.tokens_with, counts.tokens_without),
    turns_delta_pct: deltaPercent(counts.turns_with, counts.turns_without),
  }
}

function verdictOf({ voided, compared, passed_with }: BenchmarkCounts) {
  if (voided || compared === 0) return 'error'
  if (passed_with === compared) return 'pass'
  return passed_with === 0 ? 'fail' : 'mixed'
}

function deltaPercent(withSkill: number | null, without: number | null) {
  if (withSkill === null || !without) return null
  return round((100 * (withSkill - without)) / without)
}

function sumArms(told: readonly (Arms | undefined)[]): Arms | undefined {
  const pairs = told.filter((pair) => pair !== undefined)
  if (pairs.length === 0) return undefined
  return pairs.reduce((sum, pair) => ({
    with: sum.with + pair.with,
    without: sum.without + pair.without,
  }))
}

function isGraded(outcome: ArmOutcome) {
  return outcome === 'passed' || outcome === 'failed'
}

function count(cases: readonly BenchmarkCase[], is: (each: BenchmarkCase) => boolean) {
  return cases.filter(is).length
}

function round(value: number) {
  return Math.round(value * 100) / 100
}

const MAX_ERRORED_SHARE = 0.25
