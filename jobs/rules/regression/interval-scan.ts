import { locateChange } from './change-location.ts'
import type { Boundary, Series } from './change-location.ts'

/** Values of sessions in order of time, cut into activations. */
export interface ScanSeries extends Series {
  /** Indices of values that may be exchanged with each other when nothing has changed. */
  readonly strata: readonly Int32Array[]
}

interface ScanOptions {
  /** Probability of finding any change in a series without one. */
  readonly alpha: number
  /** Sessions before a change, and behind it. */
  readonly minClusters: number
  /** 0 to 1, exclusive. */
  readonly random: () => number
}

/**
 * Changes of level between activations. Every interval of whole activations is cut at each of its inner
 * boundaries (narrow intervals find what recovered again; Fryzlewicz, Annals of Statistics 42, 2014);
 * the largest difference of means, in units of the pooled deviation, is compared with its own
 * distribution over permutations (Westfall and Young, 1993), which accounts for all that was tried.
 */
export function scan(series: ScanSeries, options: ScanOptions): Boundary[] {
  const last = series.offsets.length - 1
  const found = new Set<number>()
  const threshold = permutedThreshold(series, options)
  if (threshold === undefined) return []
  const cut = (from: number, to: number) => {
    const best = largest(series, from, to, options.minClusters)
    if (best.statistic <= threshold) return
    found.add(best.index)
    cut(from, best.index)
    cut(best.index, to)
  }
  cut(0, last)
  const sorted = [...found].sort((a, b) => a - b)
  return sorted.map((index, i) =>
    locateChange(series, { index, from: sorted[i - 1] ?? 0, to: sorted[i + 1] ?? last }),
  )
}

/** What a series without a change exceeds with probability alpha; undefined when this one does not. */
function permutedThreshold(series: ScanSeries, { alpha, minClusters, random }: ScanOptions) {
  const last = series.offsets.length - 1
  const observed = largest(series, 0, last, minClusters).statistic
  const allowed = Math.floor(alpha * (PERMUTATIONS + 1)) - 1
  const permuted = { ...series, values: series.values.slice() }
  const exceeding: number[] = []
  const highest: number[] = []
  for (let round = 0; round < PERMUTATIONS; round++) {
    for (const stratum of series.strata) shuffle(permuted.values, stratum, random)
    const { statistic } = largest(permuted, 0, last, minClusters)
    if (statistic >= observed) exceeding.push(statistic)
    // More than alpha allows: the rest cannot make the series significant.
    if (exceeding.length > allowed) return undefined
    highest.push(statistic)
  }
  return highest.sort((a, b) => b - a)[allowed]
}

/** The cut of the largest squared t statistic among all intervals of a block of activations. */
function largest({ values, offsets }: ScanSeries, from: number, to: number, minClusters: number) {
  const sums = new Float64Array(to - from + 1)
  const starts = offsets.subarray(from, to + 1)
  let [sum, squares] = [0, 0]
  for (let k = 0, i = starts[0] ?? 0; k < to - from; k++) {
    for (const end = starts[k + 1] ?? 0; i < end; i++) {
      const value = values[i] ?? 0
      sum += value
      squares += value * value
    }
    sums[k + 1] = sum
  }
  const n = (starts[to - from] ?? 0) - (starts[0] ?? 0)
  const variance = (squares - (sum * sum) / n) / (n - 1)
  const best = largestCut(sums, starts, minClusters)
  return { index: from + best.index, statistic: variance < 1e-20 ? 0 : best.statistic / variance }
}

function largestCut(sums: Float64Array, starts: Int32Array, minClusters: number) {
  const best = { index: 0, statistic: 0 }
  for (let low = 0; low < sums.length - 2; low++) {
    for (let cut = low + 1; cut < sums.length - 1; cut++) {
      const before = (starts[cut] ?? 0) - (starts[low] ?? 0)
      if (before < minClusters) continue
      const mean = ((sums[cut] ?? 0) - (sums[low] ?? 0)) / before
      for (let high = cut + 1; high < sums.length; high++) {
        const after = (starts[high] ?? 0) - (starts[cut] ?? 0)
        if (after < minClusters) continue
        const difference = ((sums[high] ?? 0) - (sums[cut] ?? 0)) / after - mean
        const statistic = (difference * difference * before * after) / (before + after)
        if (statistic > best.statistic) {
          best.statistic = statistic
          best.index = cut
        }
      }
    }
  }
  return best
}

/** Fisher and Yates, over the values at the given indices. */
function shuffle(values: Float64Array, indices: Int32Array, random: () => number) {
  for (let i = indices.length - 1; i > 0; i--) {
    const a = indices[i] ?? 0
    const b = indices[Math.floor(random() * (i + 1))] ?? 0
    const value = values[a] ?? 0
    values[a] = values[b] ?? 0
    values[b] = value
  }
}

const PERMUTATIONS = 999
