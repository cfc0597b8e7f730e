import { HISTOGRAM_BINS, summarize } from '../../jobs/rules/evals/score-summary.ts'
import type { CellSums } from '../../jobs/rules/evals/score-summary.ts'
import { PASS_AT } from '../../jobs/rules/evals/score.ts'
import type { Simulation, Traffic } from './score-simulation.ts'

/** Scores of which an aggregate gives an interval. */
export interface Coverage {
  readonly name: string
  readonly kind: Traffic['kind']
  readonly mean: number
  /** Traces of the clusters, in turn. */
  readonly sizes: readonly number[]
  /** Whether the intervals are to hold the true mean in 93 to 97 of 100 runs. */
  readonly isClaimed: boolean
}

/** Clusters of a group, for each of which coverage is measured. */
export const CLUSTERS = [3, 5, 8, 12, 20, 30]

const JUDGE = { kind: 'judge', mean: 0.75 } as const

export const coverages: readonly Coverage[] = [
  { name: 'judge, sessions of 3', ...JUDGE, sizes: [3], isClaimed: true },
  { name: 'judge, traces without session', ...JUDGE, sizes: [1], isClaimed: false },
  { name: 'judge, sessions of 1 to 5', ...JUDGE, sizes: [3, 1, 5, 2, 4], isClaimed: false },
  { name: 'binary, sessions of 3', kind: 'binary', mean: 0.85, sizes: [3], isClaimed: false },
]

/** Share of the intervals, in runs that had one, that held the true mean. */
export function coverOf(simulation: Simulation, each: Coverage, clusters: number, runs: number) {
  let [held, given] = [0, 0]
  for (let run = 0; run < runs; run++) {
    const { ci95_low, ci95_high } = summarize(sumCell(draw(simulation, each, clusters)))
    if (ci95_low === null || ci95_high === null) continue
    given++
    if (ci95_low <= each.mean && each.mean <= ci95_high) held++
  }
  return held / given
}

/** The sums of scores of one name. */
export function sumCell(scores: readonly ClusteredScore[]): CellSums {
  const values = scores.map(({ value }) => value)
  const histogram = Array.from({ length: HISTOGRAM_BINS }, () => 0)
  for (const value of values) {
    const bin = Math.min(HISTOGRAM_BINS - 1, Math.floor(value * HISTOGRAM_BINS))
    histogram[bin] = (histogram[bin] ?? 0) + 1
  }
  const clusters = [...Map.groupBy(scores, ({ cluster }) => cluster).values()].map((group) => ({
    s: total(group.map(({ value }) => value)),
    n: group.length,
  }))
  return {
    n: values.length,
    passed: values.filter((value) => value >= PASS_AT).length,
    sum: total(values),
    sum_squares: total(values.map((value) => value * value)),
    min: Math.min(...values),
    max: Math.max(...values),
    histogram,
    names: 1,
    clusters: clusters.length,
    cluster_ss: total(clusters.map(({ s }) => s * s)),
    cluster_sn: total(clusters.map(({ s, n }) => s * n)),
    cluster_nn: total(clusters.map(({ n }) => n * n)),
  }
}

function draw(simulation: Simulation, { kind, mean, sizes }: Coverage, clusters: number) {
  return Array.from({ length: clusters }, (_, cluster) => {
    const size = sizes[cluster % sizes.length] ?? 1
    const traces = simulation.arm({ kind, mean, n: size, size, icc: 0.3 })
    return traces.map(({ value }) => ({ value, cluster: String(cluster) }))
  }).flat()
}

function total(values: readonly number[]) {
  return values.reduce((sum, value) => sum + value, 0)
}

export interface ClusteredScore {
  readonly value: number
  readonly cluster: string
}
