/** Sums over scores, and over those of their sessions, that can be added up further. */
export interface CellSums {
  n: number
  passed: number
  sum: number
  sum_squares: number
  min: number
  max: number
  /** Counts in `HISTOGRAM_BINS` equal bins over 0..1; 1 itself is in the last one. */
  histogram: number[]
  /** Sessions; with s the sum of a session's values and n their number, the sums of ss, sn and nn. */
  clusters: number
  cluster_ss: number
  cluster_sn: number
  cluster_nn: number
}

export interface ScoreSummary {
  count: number
  passed: number
  pass_rate: number
  mean: number
  /** Standard deviation of the sample; null for a single score. */
  stddev: number | null
  /** Bounds of the 95 % confidence interval of the mean; null below two sessions. */
  ci95_low: number | null
  ci95_high: number | null
  p10: number
  p50: number
  p90: number
  min: number
  max: number
}

/**
 * What the sums of at least one score come to. The confidence interval is the normal one around the mean
 * with the cluster-robust variance `G/(G-1) * sum over sessions of (s - n * mean)^2 / N^2` (A. C.
 * Cameron and D. L. Miller, A Practitioner's Guide to Cluster-Robust Inference, 2015): scores of one
 * session are not independent. Where every trace is a session of its own it is the usual s^2 / N.
 */
export function summarize(cell: CellSums): ScoreSummary {
  const { n, passed, sum, sum_squares, min, max, clusters } = cell
  const mean = sum / n
  const squares = Math.max(0, sum_squares - n * mean * mean)
  const spread = cell.cluster_ss - 2 * mean * cell.cluster_sn + mean * mean * cell.cluster_nn
  const error =
    clusters < 2 ? null : Math.sqrt(((clusters / (clusters - 1)) * Math.max(0, spread)) / (n * n))
  return {
    count: n,
    passed,
    pass_rate: passed / n,
    mean,
    stddev: n < 2 ? null : Math.sqrt(squares / (n - 1)),
    ci95_low: error === null ? null : mean - Z95 * error,
    ci95_high: error === null ? null : mean + Z95 * error,
    p10: percentile(cell, 0.1),
    p50: percentile(cell, 0.5),
    p90: percentile(cell, 0.9),
    min,
    max,
  }
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
/** The 97.5 % point of the normal distribution. */
const Z95 = 1.959963984540054
