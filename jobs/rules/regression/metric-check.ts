import {
  adjustForCount,
  compareArms,
  comparePairs,
  detectable,
  lowerBound,
  summarize,
} from './statistics.ts'
import type { Comparison, Design, Observation } from './statistics.ts'

/** What was measured of one metric under both manifests. */
export interface MeasuredMetric {
  readonly metric: string
  /** Whether a regression of it speaks against the candidate. */
  readonly gating: boolean
  readonly baseline: readonly Observation[]
  readonly candidate: readonly Observation[]
  /** Traces of the baseline with their replays under the candidate. */
  readonly pairs: readonly { readonly source: Observation; readonly replay: Observation }[]
}

export type MetricVerdict = 'regressed' | 'improved' | 'pass' | 'inconclusive'

/** One metric of a regression check. What needs more traces to be known is null. */
export interface MetricCheck {
  readonly metric: string
  readonly gating: boolean
  readonly design: Design
  readonly n_baseline: number
  readonly n_candidate: number
  readonly clusters: readonly [baseline: number, candidate: number]
  readonly mean_baseline: number
  readonly mean_candidate: number
  readonly delta: number
  /** 95 % of the delta. */
  readonly ci: readonly [number, number] | null
  readonly p_value: number | null
  /** The p-value adjusted for the number of gating metrics; null for the others. */
  readonly q_value: number | null
  readonly raw_delta: number
  /**
   * The smallest change that this traffic could have shown with a power of 80 %, if no other gating
   * metric had changed. Null where no variance can be told.
   */
  readonly mde: number | null
  /** Candidate traces that would find a drop of the margin; null when the verdict is settled. */
  readonly needed_n: number | null
  readonly verdict: MetricVerdict
  /** The candidate's worst traces, one a session. */
  readonly trace_sample_ids: readonly string[]
}

/** Tests every metric with values under both manifests, in the order given. */
export function checkMetrics(measured: readonly MeasuredMetric[]): MetricCheck[] {
  const compared = measured
    .filter(({ baseline, candidate }) => baseline.length > 0 && candidate.length > 0)
    .map((metric) => ({ metric, ...compareMetric(metric) }))
  const gating = compared.filter(({ metric, enough }) => metric.gating && enough)
  const adjusted = adjustForCount(gating.map(({ comparison }) => comparison.p_value))
  const qValues = new Map(gating.map(({ metric }, i) => [metric, adjusted[i] ?? 1]))
  return compared.map(({ metric, comparison, enough }) =>
    describe(metric, comparison, {
      enough,
      q_value: qValues.get(metric) ?? null,
      tests: qValues.has(metric) ? qValues.size : 1,
    }),
  )
}

/** A stratified test that contradicts the plain means: the mix of tasks has changed. */
export function isMixShift({ design, delta, raw_delta }: MetricCheck) {
  if (design !== 'stratified') return false
  return Math.abs(delta - raw_delta) >= LEAST_DELTA && isChange(delta) !== isChange(raw_delta)
}

/** The lowest values first, of each session one. */
export function worstTraces(observations: readonly Observation[]): string[] {
  const sorted = [...observations].sort(
    (a, b) => a.value - b.value || (a.trace_id < b.trace_id ? -1 : 1),
  )
  const sessions = new Map<string, string>()
  for (const { session_id, trace_id } of sorted) {
    const key = session_id ?? `trace ${trace_id}`
    if (!sessions.has(key)) sessions.set(key, trace_id)
  }
  return [...sessions.values()].slice(0, SAMPLES)
}

function compareMetric({ baseline, candidate, pairs }: MeasuredMetric) {
  const sources = summarize(pairs.map(({ source }) => source))
  if (pairs.length >= MIN_PAIRS && sources.clusters >= MIN_CLUSTERS) {
    return { comparison: comparePairs(pairs), enough: true }
  }
  const comparison = compareArms(baseline, candidate)
  const enough = [comparison.baseline, comparison.candidate].every(
    ({ n, clusters }) => n >= MIN_TRACES && clusters >= MIN_CLUSTERS,
  )
  return { comparison, enough }
}

function describe(
  { metric, gating, candidate }: MeasuredMetric,
  comparison: Comparison,
  { enough, q_value, tests }: { enough: boolean; q_value: number | null; tests: number },
): MetricCheck {
  const { design, baseline: a, candidate: b, delta, raw_delta, ci, p_value } = comparison
  const verdict = enough ? judge(comparison, q_value ?? p_value) : 'inconclusive'
  const mde = detectable(comparison, { alpha: ALPHA / tests, least: LEAST_DELTA })
  return {
    metric,
    gating,
    design,
    n_baseline: a.n,
    n_candidate: b.n,
    clusters: [a.clusters, b.clusters],
    mean_baseline: a.mean,
    mean_candidate: b.mean,
    delta,
    ci: enough ? ci : null,
    p_value: enough ? p_value : null,
    q_value,
    raw_delta,
    mde,
    needed_n: verdict === 'inconclusive' ? neededTraces(b.n, mde) : null,
    verdict,
    trace_sample_ids: worstTraces(candidate),
  }
}

function judge(comparison: Comparison, q: number): MetricVerdict {
  const { delta } = comparison
  if (q < ALPHA && isChange(delta)) return delta < 0 ? 'regressed' : 'improved'
  return lowerBound(comparison) > -MARGIN ? 'pass' : 'inconclusive'
}

/** The variance of a mean falls with the number of traces, and what can be found with its root. */
function neededTraces(n: number, mde: number | null) {
  const grown = mde === null ? 0 : Math.ceil(n * (mde / MARGIN) ** 2)
  return Math.max(MIN_TRACES, grown)
}

function isChange(delta: number) {
  return Math.abs(delta) >= LEAST_DELTA
}

const ALPHA = 0.05
/** A smaller change of a mean matters to nobody. */
const LEAST_DELTA = 0.03
/** A metric passes when a drop of this much is ruled out. */
const MARGIN = 0.05
const MIN_TRACES = 30
const MIN_CLUSTERS = 10
const MIN_PAIRS = 20
const SAMPLES = 10
