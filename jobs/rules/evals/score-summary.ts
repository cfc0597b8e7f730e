import quantile from '@stdlib/stats-base-dists-t-quantile'
import { roundAverage } from '../core/round.ts'

/** Sums over scores, and over those of what was measured together. */
export interface CellSums {
  n: number
  passed: number
  sum: number
  sum_squares: number
  min: number
  max: number
  /** Counts in `HISTOGRAM_BINS` equal bins over 0..1; 1 itself is in the last one. */
  histogram: number[]
  /** How many names the scores have. */
  names: number
  /** Clusters; with s the sum of a cluster's values and n their number, the sums of ss, sn and nn. */
  clusters: number
  cluster_ss: number
  cluster_sn: number
  cluster_nn: number
}

/** Averages to six digits. */
export interface ScoreSummary {
  count: number
  passed: number
  pass_rate: number
  mean: number
  /** Standard deviation of the sample; null for a single score. */
  stddev: number | null
  /** Bounds of the 95 % confidence interval of the mean; null where there is none: see `halfWidth`. */
  ci95_low: number | null
  ci95_high: number | null
  p10: number
  p50: number
  p90: number
  min: number
  max: number
}

/** What the sums of at least one score come to. */
export function summarize(cell: CellSums): ScoreSummary {
  const { n, passed, sum, sum_squares, min, max } = cell
  const mean = sum / n
  const squares = Math.max(0, sum_squares - n * mean * mean)
  const half = halfWidth(cell)
  return {
    count: n,
    passed,
    pass_rate: roundAverage(passed / n),
    mean: roundAverage(mean),
    stddev: n < 2 ? null : roundAverage(Math.sqrt(squares / (n - 1))),
    ci95_low: half === null ? null : roundAverage(mean - half),
    ci95_high: half === null ? null : roundAverage(mean + half),
    p10: roundAverage(percentile(cell, 0.1)),
    p50: roundAverage(percentile(cell, 0.5)),
    p90: roundAverage(percentile(cell, 0.9)),
    min,
    max,
  }
}

/**
 * How far the 95 % confidence interval reaches to both sides of the mean: by the t distribution of
 * G - 1 degrees of freedom and the cluster-robust variance `G/(G-1) * sum over clusters of
 * (s - n * mean)^2 / N^2` (A. C. Cameron and D. L. Miller, A Practitioner's Guide to Cluster-Robust
 * Inference, 2015), because scores of one task or session are not independent. Null with fewer than
 * three clusters; where scores of several names mix, whose mean measures nothing; and where it is 0 to
 * six digits, since clusters that are all alike do not tell how others may differ.
 */
function halfWidth({ n, sum, names, clusters, ...cell }: CellSums): number | null {
  if (clusters < MIN_CLUSTERS || names > 1) return null
  const mean = sum / n
  const spread = cell.cluster_ss - 2 * mean * cell.cluster_sn + mean * mean * cell.cluster_nn
  const variance = ((clusters / (clusters - 1)) * Math.max(0, spread)) / (n * n)
  const half = quantile(0.975, clusters - 1) * Math.sqrt(variance)
  return roundAverage(half) > 0 ? half : null
}

/** Linear inside the bin in which the share `p` is reached; never beyond the least and greatest value. */
function percentile({ histogram, n, min, max }: CellSums, p: number) {
  let before = 0
  for (const [bin, count] of histogram.entries()) {
    if (count > 0 && before + count >= p * n) {
      const value = (bin + (p * n - before) / count) / HISTOGRAM_BINS
      return Math.min(max, Math.max(min, value))
    }
    before += count
  }
  return max
}

export const HISTOGRAM_BINS = 20
const MIN_CLUSTERS = 3
