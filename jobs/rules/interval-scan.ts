/** Values of sessions in order of time, cut into episodes. */
export interface ScanSeries {
  readonly values: Float64Array
  /** Where each episode begins, and after the last one the end. */
  readonly offsets: readonly number[]
  /** Places whose values may be exchanged with each other when nothing has changed. */
  readonly strata: readonly Int32Array[]
}

/** A change found at the beginning of an episode. */
export interface Boundary {
  readonly episode: number
  readonly cause: 'version' | 'drift'
  /** Episodes that hold the change with a probability of 90 %, the likeliest first. */
  readonly credible: readonly number[]
}

interface ScanOptions {
  /** Of finding any change in a series without one. */
  readonly alpha: number
  /** On either side of a change. */
  readonly minClusters: number
  /** 0 to 1, exclusive. */
  readonly random: () => number
}

/**
 * Changes of level between episodes. Every interval of whole episodes is cut at each of its inner
 * boundaries (narrow intervals find what recovered again; Fryzlewicz, Annals of Statistics 42, 2014);
 * the largest difference of means, in units of the pooled deviation, is compared with its own
 * distribution over permutations (Westfall and Young, 1993), which accounts for all that was tried.
 */
export function scan(series: ScanSeries, options: ScanOptions): Boundary[] {
  const last = series.offsets.length - 1
  const places = new Set<number>()
  const threshold = permutedThreshold(series, options)
  if (threshold === undefined) return []
  function cut(from: number, to: number) {
    const best = largest(series, from, to, options.minClusters)
    if (best.statistic <= (threshold as number)) return
    places.add(best.at)
    cut(from, best.at)
    cut(best.at, to)
  }
  cut(0, last)
  const sorted = [...places].sort((a, b) => a - b)
  return sorted.map((at, i) =>
    locate(series, { at, from: sorted[i - 1] ?? 0, to: sorted[i + 1] ?? last }),
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
    for (const places of series.strata) shuffle(permuted.values, places, random)
    const { statistic } = largest(permuted, 0, last, minClusters)
    if (statistic >= observed) exceeding.push(statistic)
    // More than alpha allows: the rest cannot make the series significant.
    if (exceeding.length > allowed) return undefined
    highest.push(statistic)
  }
  return highest.sort((a, b) => b - a)[allowed]
}

/** The cut of the largest squared t statistic among all intervals of a block of episodes. */
function largest({ values, offsets }: ScanSeries, from: number, to: number, minClusters: number) {
  const sums = new Float64Array(to - from + 1)
  const starts = Int32Array.from(offsets.slice(from, to + 1))
  let [sum, squares] = [0, 0]
  for (let k = 0, i = starts[0] as number; k < to - from; k++) {
    for (const end = starts[k + 1] as number; i < end; i++) {
      const value = values[i] as number
      sum += value
      squares += value * value
    }
    sums[k + 1] = sum
  }
  const n = (starts[to - from] as number) - (starts[0] as number)
  const variance = (squares - (sum * sum) / n) / (n - 1)
  const best = largestCut(sums, starts, minClusters)
  return { at: from + best.at, statistic: variance < 1e-20 ? 0 : best.statistic / variance }
}

function largestCut(sums: Float64Array, starts: Int32Array, minClusters: number) {
  const best = { at: 0, statistic: 0 }
  for (let low = 0; low < sums.length - 2; low++) {
    for (let at = low + 1; at < sums.length - 1; at++) {
      const before = (starts[at] as number) - (starts[low] as number)
      if (before < minClusters) continue
      const mean = ((sums[at] as number) - (sums[low] as number)) / before
      for (let high = at + 1; high < sums.length; high++) {
        const after = (starts[high] as number) - (starts[at] as number)
        if (after < minClusters) continue
        const difference = ((sums[high] as number) - (sums[at] as number)) / after - mean
        const statistic = (difference * difference * before * after) / (before + after)
        if (statistic > best.statistic) {
          best.statistic = statistic
          best.at = at
        }
      }
    }
  }
  return best
}

/**
 * Where in its block a change is: the posterior of one change of a normal mean under a flat prior on
 * means and variance (Smith, Biometrika 62, 1975). A tenth of the prior is on points inside versions;
 * where those win, no version made the change. With more of it there, a change at a boundary passes
 * for drift in every second history of 60 sessions a version.
 */
function locate(series: ScanSeries, block: { at: number; from: number; to: number }): Boundary {
  const { offsets } = series
  const [start, end] = [offsets[block.from] as number, offsets[block.to] as number]
  const versions = range(block.from + 1, block.to).map((k) => ({
    episode: k,
    cut: offsets[k] as number,
  }))
  const inside = range(block.from, block.to).flatMap((k) => {
    const [a, b] = [offsets[k] as number, offsets[k + 1] as number]
    return [1, 2, 3].map((quarter) => ({
      episode: k,
      cut: a + Math.round(((b - a) * quarter) / 4),
    }))
  })
  const logs = logLikelihoods(series.values, start, end)
  const weigh = (places: readonly { cut: number }[], prior: number) =>
    places.map(({ cut }) => logs(cut) + Math.log(prior / places.length))
  const logVersions = weigh(versions, VERSION_PRIOR)
  const logInside = weigh(inside, 1 - VERSION_PRIOR)
  const best = Math.max(...logVersions, ...logInside)
  const onVersions = logVersions.map((log) => Math.exp(log - best))
  const onInside = logInside.map((log) => Math.exp(log - best))
  const versionMass = onVersions.reduce((sum, each) => sum + each, 0)
  const insideMass = onInside.reduce((sum, each) => sum + each, 0)
  const isVersion = versionMass / (versionMass + insideMass) >= VERSION_MASS
  const ranked = versions
    .map(({ episode }, i) => ({ episode, share: (onVersions[i] ?? 0) / versionMass }))
    .sort((a, b) => b.share - a.share)
  const credible: number[] = []
  let covered = 0
  for (const { episode, share } of ranked) {
    if (covered >= CREDIBLE_MASS) break
    credible.push(episode)
    covered += share
  }
  const episode = ranked[0]?.episode ?? block.at
  return { episode, cause: isVersion ? 'version' : 'drift', credible: isVersion ? credible : [] }
}

/** Of a change at a place within a block, but for what is the same at all of its places. */
function logLikelihoods(values: Float64Array, start: number, end: number) {
  const sums = [0]
  let squares = 0
  for (let i = start; i < end; i++) {
    const value = values[i] as number
    sums.push((sums.at(-1) as number) + value)
    squares += value * value
  }
  const n = end - start
  const total = sums[n] as number
  return (cut: number) => {
    const before = cut - start
    if (before < 1 || before >= n) return -Infinity
    const sum = sums[before] as number
    const rest = squares - sum ** 2 / before - (total - sum) ** 2 / (n - before)
    return (-(n - 2) / 2) * Math.log(Math.max(rest, 1e-12))
  }
}

/** Fisher and Yates, over the given places. */
function shuffle(values: Float64Array, places: Int32Array, random: () => number) {
  for (let i = places.length - 1; i > 0; i--) {
    const a = places[i] as number
    const b = places[Math.floor(random() * (i + 1))] as number
    const value = values[a] as number
    values[a] = values[b] as number
    values[b] = value
  }
}

function range(from: number, to: number) {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

const PERMUTATIONS = 999
const VERSION_PRIOR = 0.9
const VERSION_MASS = 0.5
const CREDIBLE_MASS = 0.9
