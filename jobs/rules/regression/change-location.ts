/** Values of sessions in order of time, cut into activations. */
export interface Series {
  readonly values: Float64Array
  /** Where each activation begins, and after the last one the end. */
  readonly offsets: Int32Array
}

/** A change found at the beginning of an activation. */
export interface Boundary {
  readonly activation: number
  readonly cause: 'version' | 'drift'
  /** Activations that hold the change with a probability of 90 %, the likeliest first. */
  readonly credible: readonly number[]
}

/** Activations from `from` up to but not with `to`, between which the one at `index` begins. */
interface Block {
  readonly index: number
  readonly from: number
  readonly to: number
}

/**
 * Where in its block a change is: the posterior of one change of a normal mean under a flat prior on
 * means and variance (Smith, Biometrika 62, 1975). A tenth of the prior is on points inside versions;
 * where those win, no version made the change. With more of it there, a change at a boundary passes
 * for drift in every second history of 60 sessions a version.
 */
export function locateChange(series: Series, block: Block): Boundary {
  const starts = startsIn(series, block)
  const [versionWeights, insideWeights] = weigh(series, block, [
    starts.map(({ cut }) => cut),
    cutsInside(series, block),
  ])
  const versionMass = sum(versionWeights)
  const isVersion = versionMass / (versionMass + sum(insideWeights)) >= VERSION_MASS
  const ranked = starts
    .map(({ activation }, i) => ({ activation, share: (versionWeights[i] ?? 0) / versionMass }))
    .sort((a, b) => b.share - a.share)
  return {
    activation: ranked[0]?.activation ?? block.index,
    cause: isVersion ? 'version' : 'drift',
    credible: isVersion ? credibleSet(ranked) : [],
  }
}

/** The inner activations of a block, with the index of the first value of each. */
function startsIn({ offsets }: Series, { from, to }: Block) {
  return [...offsets.subarray(from + 1, to)].map((cut, i) => ({ activation: from + 1 + i, cut }))
}

/** Three indices inside each activation of a block. */
function cutsInside({ offsets }: Series, { from, to }: Block) {
  const ends = offsets.subarray(from + 1, to + 1)
  return [...offsets.subarray(from, to)].flatMap((start, i) => {
    const length = (ends[i] ?? start) - start
    return [1, 2, 3].map((quarter) => start + Math.round((length * quarter) / 4))
  })
}

/** The posterior of each cut, up to a factor that is the same for all of them. */
function weigh(
  { values, offsets }: Series,
  { from, to }: Block,
  [onVersions, inside]: readonly [readonly number[], readonly number[]],
): [number[], number[]] {
  const logLikelihood = likelihoods(values.subarray(offsets[from], offsets[to]))
  const start = offsets[from] ?? 0
  const logs = (cuts: readonly number[], prior: number) =>
    cuts.map((cut) => logLikelihood(cut - start) + Math.log(prior / cuts.length))
  const logVersions = logs(onVersions, VERSION_PRIOR)
  const logInside = logs(inside, 1 - VERSION_PRIOR)
  const best = Math.max(...logVersions, ...logInside)
  const relative = (log: number) => Math.exp(log - best)
  return [logVersions.map(relative), logInside.map(relative)]
}

/**
 * Logarithm of the likelihood of a change behind the first so many values, but for what is the same
 * however many these are.
 */
function likelihoods(values: Float64Array) {
  const sums = [0]
  let [total, squares] = [0, 0]
  for (const value of values) {
    sums.push((total += value))
    squares += value * value
  }
  const n = values.length
  return (before: number) => {
    const partial = sums[before]
    if (partial === undefined || before < 1 || before >= n) return -Infinity
    const rest = squares - partial ** 2 / before - (total - partial) ** 2 / (n - before)
    return (-(n - 2) / 2) * Math.log(Math.max(rest, 1e-12))
  }
}

function credibleSet(ranked: readonly { activation: number; share: number }[]) {
  const credible: number[] = []
  let covered = 0
  for (const { activation, share } of ranked) {
    if (covered >= CREDIBLE_MASS) break
    credible.push(activation)
    covered += share
  }
  return credible
}

function sum(values: readonly number[]) {
  return values.reduce((total, value) => total + value, 0)
}

const VERSION_PRIOR = 0.9
const VERSION_MASS = 0.5
const CREDIBLE_MASS = 0.9
