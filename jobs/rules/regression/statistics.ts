import cdf from '@stdlib/stats-base-dists-t-cdf'
import quantile from '@stdlib/stats-base-dists-t-quantile'

/** One measured value of a trace; higher is better. */
export interface Observation {
  readonly trace_id: string
  readonly session_id: string | null
  readonly task_id: string | null
  readonly value: number
}

/** A mean with its sampling variance, which takes what was measured together for alike. */
export interface Arm {
  readonly n: number
  readonly clusters: number
  readonly mean: number
  /** Variance of the mean; 0 below two clusters. */
  readonly variance: number
  /** Degrees of freedom of the variance. */
  readonly freedom: number
}

export type Design = 'paired_replay' | 'stratified' | 'unpaired'

/** How a candidate differs from its baseline. */
export interface Comparison {
  readonly design: Design
  readonly baseline: Arm
  readonly candidate: Arm
  /** Candidate less baseline, at the candidate's mix of tasks where it is stratified. */
  readonly delta: number
  /** Difference of the plain means. */
  readonly raw_delta: number
  /** 95 %, two-sided. */
  readonly ci: readonly [number, number]
  /** Two-sided. */
  readonly p_value: number
  readonly se: number
  readonly freedom: number
}

/**
 * Unpaired, or stratified by task where two tasks or more have enough traces in both arms and cover
 * most of the candidate's: then a shift of the mix between tasks does not pass for a change.
 */
export function compareArms(
  baseline: readonly Observation[],
  candidate: readonly Observation[],
): Comparison {
  const [plainBaseline, plainCandidate] = [summarize(baseline), summarize(candidate)]
  const raw_delta = plainCandidate.mean - plainBaseline.mean
  const strata = sharedStrata(baseline, candidate)
  if (!strata) return compare('unpaired', plainBaseline, plainCandidate, raw_delta)
  const covered = strata.reduce((sum, [, after]) => sum + after.length, 0)
  const weights = strata.map(([, after]) => after.length / covered)
  const [before, after] = ([0, 1] as const).map((arm) =>
    estimate(
      strata.map((stratum) => stratum[arm]),
      weights,
      withinTask,
    ),
  ) as [Arm, Arm]
  // Sessions that go across tasks may leave too few of them to estimate a variance.
  const tellable = Math.min(before.freedom, after.freedom) >= STRATIFIED_FREEDOM
  if (!tellable) return compare('unpaired', plainBaseline, plainCandidate, raw_delta)
  return compare('stratified', before, after, raw_delta)
}

/** Over differences of pairs, each a replay's value less that of the trace it replays. */
export function comparePairs(
  pairs: readonly { readonly source: Observation; readonly replay: Observation }[],
): Comparison {
  const differences = summarize(
    pairs.map(({ source, replay }) => ({ ...source, value: replay.value - source.value })),
  )
  const [baseline, candidate] = [
    summarize(pairs.map(({ source }) => source)),
    summarize(pairs.map(({ source, replay }) => ({ ...source, value: replay.value }))),
  ]
  const { mean, variance, freedom } = differences
  const tested = test(mean, variance, freedom)
  return { design: 'paired_replay', baseline, candidate, raw_delta: mean, ...tested }
}

/**
 * A mean whose clusters are tasks, else sessions, else the traces themselves; where all are of one
 * task, that is no cluster but what is measured: sessions, else traces.
 */
export function summarize(observations: readonly Observation[]): Arm {
  const [first] = observations
  const isOneTask = observations.every(({ task_id }) => task_id === first?.task_id)
  return estimate([observations], [1], isOneTask ? withinTask : acrossTasks)
}

/**
 * Welch's t test with the degrees of freedom of Satterthwaite (Biometrics Bulletin 2, 1946). A single
 * cluster has no variance that can be estimated, and so shows nothing.
 */
export function welch(baseline: Arm, candidate: Arm) {
  const [a, b] = [baseline.variance, candidate.variance]
  if (Math.min(baseline.freedom, candidate.freedom) < 1) {
    const delta = candidate.mean - baseline.mean
    return { delta, se: Infinity, freedom: 1, p_value: 1, ci: [-Infinity, Infinity] as const }
  }
  const freedom = (a + b) ** 2 / (a ** 2 / baseline.freedom + b ** 2 / candidate.freedom)
  return test(candidate.mean - baseline.mean, a + b, freedom)
}

/** The interval of a mean, with a confidence of 95 %. */
export function interval({ mean, variance, freedom }: Arm): readonly [number, number] {
  return test(mean, variance, freedom).ci
}

/** The lower bound of the difference with a confidence of 95 %, one-sided. */
export function lowerBound({ delta, se, freedom }: Pick<Comparison, 'delta' | 'se' | 'freedom'>) {
  return se === 0 ? delta : delta - se * quantile(0.95, freedom)
}

/**
 * The smallest difference that a test of this precision shows with a power of 80 %: the least one that
 * counts as found, and t(.8) standard errors more (Bloom, Evaluation Review 19, 1995). Null where no
 * variance can be told: below two clusters, and where all values of an arm are one.
 * @param alpha of the test, two-sided
 * @param least smallest difference that matters
 */
export function detectable(
  { se, freedom }: Pick<Comparison, 'se' | 'freedom'>,
  { alpha, least }: { readonly alpha: number; readonly least: number },
): number | null {
  if (se === 0 || se === Infinity) return null
  return Math.max(least, se * quantile(1 - alpha / 2, freedom)) + se * quantile(0.8, freedom)
}

/** Benjamini and Hochberg (JRSS B 57, 1995): at which rate of false discoveries each would be one. */
export function adjustForCount(pValues: readonly number[]): number[] {
  const order = pValues.map((_, i) => i).sort((a, b) => (pValues[b] ?? 0) - (pValues[a] ?? 0))
  const adjusted: number[] = []
  let least = 1
  order.forEach((i, rank) => {
    least = Math.min(least, ((pValues[i] ?? 1) * pValues.length) / (pValues.length - rank))
    adjusted[i] = least
  })
  return adjusted
}

/** Sandwich variance of clustered means (Liang and Zeger, Biometrika 73, 1986), G/(G-K) corrected. */
function estimate(
  strata: readonly (readonly Observation[])[],
  weights: readonly number[],
  clusterOf: (observation: Observation) => string,
): Arm {
  const sums = new Map<string, number>()
  let [n, mean] = [0, 0]
  strata.forEach((observations, k) => {
    const weight = weights[k] ?? 0
    const own = observations.reduce((sum, { value }) => sum + value, 0) / observations.length
    for (const observation of observations) {
      const key = clusterOf(observation)
      const residual = ((observation.value - own) * weight) / observations.length
      sums.set(key, (sums.get(key) ?? 0) + residual)
    }
    n += observations.length
    mean += weight * own
  })
  const freedom = sums.size - strata.length
  const squares = [...sums.values()].reduce((sum, each) => sum + each * each, 0)
  const variance = freedom > 0 ? (squares * sums.size) / freedom : 0
  // What is left of equal values by rounding is no variance.
  return { n, clusters: sums.size, mean, variance: variance < 1e-20 ? 0 : variance, freedom }
}

function compare(design: Design, baseline: Arm, candidate: Arm, raw_delta: number): Comparison {
  return { design, baseline, candidate, raw_delta, ...welch(baseline, candidate) }
}

function test(delta: number, variance: number, freedom: number) {
  const se = Math.sqrt(variance)
  if (se === 0) {
    const p_value = Math.abs(delta) < 1e-12 ? 1 : 0
    return { delta, se, freedom: 0, p_value, ci: [delta, delta] as const }
  }
  const half = se * quantile(0.975, freedom)
  const p_value = 2 * cdf(-Math.abs(delta) / se, freedom)
  return { delta, se, freedom, p_value, ci: [delta - half, delta + half] as const }
}

/** By task, the observations of both arms; undefined where they do not allow a stratified test. */
function sharedStrata(baseline: readonly Observation[], candidate: readonly Observation[]) {
  const taskOf = ({ task_id }: Observation) => task_id
  const before = Map.groupBy(baseline, taskOf)
  const shared = [...Map.groupBy(candidate, taskOf)].flatMap(([task, after]) => {
    const counterpart = before.get(task) ?? []
    return isLarge(after) && isLarge(counterpart) ? [[counterpart, after] as const] : []
  })
  const covered = shared.reduce((sum, [, after]) => sum + after.length, 0)
  return shared.length >= 2 && covered >= candidate.length / 2 ? shared : undefined
}

function isLarge(observations: readonly Observation[]) {
  return observations.length >= STRATUM_TRACES && new Set(observations.map(withinTask)).size >= 2
}

function acrossTasks(observation: Observation) {
  const { task_id } = observation
  return task_id === null ? withinTask(observation) : `task ${task_id}`
}

/** Where tasks are the strata, what traces of one task have in common is accounted for already. */
function withinTask({ session_id, trace_id }: Observation) {
  return session_id === null ? `trace ${trace_id}` : `session ${session_id}`
}

const STRATUM_TRACES = 10
const STRATIFIED_FREEDOM = 8
