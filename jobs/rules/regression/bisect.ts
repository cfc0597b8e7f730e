import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Boundary } from './change-location.ts'
import { scan } from './interval-scan.ts'
import type { ScanSeries } from './interval-scan.ts'
import { compareArms, detectable, lowerBound, summarize, welch } from './statistics.ts'
import type { Arm, Observation } from './statistics.ts'

/** A session's mean; `trace_id` is its worst trace. */
export interface Session extends Observation {
  readonly n: number
}

/** A time in which one manifest was the active one, and what was measured then, in order of time. */
export interface Activation {
  readonly manifest_id: string
  readonly manifest_hash: string
  readonly version_label: string
  readonly activated_at: Date
  readonly sessions: readonly Session[]
}

/** A version from which on a metric was worse. */
export interface Suspect {
  /** Index of the introducing activation. */
  readonly activation: number
  readonly delta: number
  /** To the reference's mean; null when that is 0. */
  readonly relative_delta: number | null
  readonly p_value: number
  /** What the metric was before, frozen: recovery is measured against it. */
  readonly reference: Arm
  /** `drift` when the change does not coincide with a version: then no manifest is to blame. */
  readonly cause: 'version' | 'drift'
  /** Activations one of which is to blame with a probability of 90 %. */
  readonly credible: readonly number[]
  /** Sessions measured since, for examples. */
  readonly affected: readonly Observation[]
}

/**
 * How many of the looks at the newest activation are due. It is tested on what it had at the last of
 * them, so that a test repeated between two looks shows nothing new.
 */
export function looksDue({ sessions }: Activation) {
  const traces = countTraces(sessions)
  return LOOKS.filter((look) => traces >= look).length
}

/**
 * The activations as they are tested: the newest one as it was at its last look and left out before its
 * first, and those of too few sessions to be told apart taken together with the next one.
 */
export function prepareActivations<A extends Activation>(activations: readonly A[]): A[] {
  const newest = activations.at(-1)
  if (!newest) return []
  const look = LOOKS[looksDue(newest) - 1]
  const sessions = look === undefined ? [] : firstSessions(newest.sessions, look)
  return joinShortActivations([...activations.slice(0, -1), { ...newest, sessions }])
}

/**
 * The versions after which the metric was worse, in order. Two tests share what may be false: the
 * newest activation against the stable segment before it, at .04, and a scan of the whole history at
 * .01, both spread evenly over the looks.
 * @param seed of the permutations: equal data and seed give equal suspects
 */
export function findSuspects(activations: readonly Activation[], seed: number): Suspect[] {
  if (activations.length < 2) return []
  const generator = xoroshiro128plus(seed)
  const random = () => (generator.next() >>> 0) / 2 ** 32
  const series = toSeries(activations)
  const found = scan(series, {
    alpha: SCAN_ALPHA / LOOKS.length,
    minClusters: MIN_CLUSTERS,
    random,
  })
  const boundaries = mergeAlike(activations, found)
  const suspects = boundaries.flatMap((boundary, i) => {
    const [before, after] = around(activations, boundaries, i)
    return describe(activations, boundary, before, after) ?? []
  })
  const newest = activations.length - 1
  const isKnown = boundaries.some(({ activation }) => activation === newest)
  const alert = isKnown ? undefined : testNewest(activations, boundaries.at(-1)?.activation ?? 0)
  return alert ? [...suspects, alert] : suspects
}

/** Whether a later segment is as good again as the metric was, by a margin of .05 at 95 %. */
export function isRecovered(reference: Arm, since: readonly Observation[]) {
  if (since.length < MIN_CLUSTERS) return false
  return lowerBound(welch(reference, summarize(since))) > -RECOVERY_MARGIN
}

/**
 * The smallest drop between two activations that a look at the later one shows with a power of 80 %. Null
 * where there are too few sessions, or all values of one are alike.
 */
export function smallestVisibleDrop(before: readonly Session[], after: readonly Session[]) {
  if (Math.min(before.length, after.length) < MIN_CLUSTERS) return null
  return detectable(compareArms(before, after), {
    alpha: FOCUSED_ALPHA / LOOKS.length,
    least: LEAST_DELTA,
  })
}

function firstSessions(sessions: readonly Session[], traces: number) {
  let counted = 0
  const end = sessions.findIndex(({ n }) => (counted += n) >= traces)
  return end < 0 ? sessions : sessions.slice(0, end + 1)
}

function joinShortActivations<A extends Activation>(activations: readonly A[]): A[] {
  const joined: A[] = []
  let waiting: readonly Session[] = []
  for (const activation of activations) {
    const sessions = [...waiting, ...activation.sessions]
    const isShort = sessions.length < MIN_CLUSTERS
    waiting = isShort ? sessions : []
    if (!isShort) joined.push({ ...activation, sessions })
  }
  return joined
}

function countTraces(sessions: readonly Session[]) {
  return sessions.reduce((sum, { n }) => sum + n, 0)
}

/** The newest activation against the segment that was stable before it. */
function testNewest(activations: readonly Activation[], stableFrom: number): Suspect | undefined {
  const newest = activations.length - 1
  const after = activations[newest]?.sessions ?? []
  const before = sessionsOf(activations, stableFrom, newest).slice(-REFERENCE_CLUSTERS)
  if (countTraces(activations[newest]?.sessions ?? []) < LOOKS[0]) return undefined
  const { p_value } = compareArms(before, after)
  if (p_value > FOCUSED_ALPHA / LOOKS.length) return undefined
  const boundary = { activation: newest, cause: 'version', credible: [newest] } as const
  return describe(activations, boundary, before, after)
}

/** Undefined for what is no loss of a size that matters. */
function describe(
  activations: readonly Activation[],
  { activation, cause, credible }: Boundary,
  before: readonly Observation[],
  after: readonly Observation[],
): Suspect | undefined {
  const { delta, p_value, baseline } = compareArms(before, after)
  if (delta > -LEAST_DELTA) return undefined
  const reference = summarize(before.slice(-REFERENCE_CLUSTERS))
  const relative_delta = baseline.mean === 0 ? null : delta / baseline.mean
  const affected = sessionsOf(activations, activation, activation + 1)
  return { activation, delta, relative_delta, p_value, reference, cause, credible, affected }
}

/** Takes away boundaries before and behind which the values are alike, the weakest first. */
function mergeAlike(activations: readonly Activation[], found: readonly Boundary[]): Boundary[] {
  const kept = [...found]
  for (;;) {
    const compared = kept.map((_, i) => compareArms(...around(activations, kept, i)))
    const weakest = compared.reduce(
      (least, { p_value }, i) => (p_value > (compared[least]?.p_value ?? 0) ? i : least),
      0,
    )
    const tooSmall = compared.findIndex(({ delta }) => Math.abs(delta) < LEAST_DELTA)
    const drop = (compared[weakest]?.p_value ?? 0) > MERGE_ALPHA ? weakest : tooSmall
    if (compared.length === 0 || drop < 0) return kept
    kept.splice(drop, 1)
  }
}

/** The sessions from the boundary before to this one, and from this one to the next. */
function around(activations: readonly Activation[], boundaries: readonly Boundary[], i: number) {
  const at = boundaries[i]?.activation ?? 0
  const from = boundaries[i - 1]?.activation ?? 0
  const to = boundaries[i + 1]?.activation ?? activations.length
  return [sessionsOf(activations, from, at), sessionsOf(activations, at, to)] as const
}

function sessionsOf(activations: readonly Activation[], from: number, to: number) {
  return activations.slice(from, to).flatMap(({ sessions }) => sessions)
}

/** Tasks of few sessions are one stratum; a stratum's own level is taken out of its values. */
function toSeries(activations: readonly Activation[]): ScanSeries {
  const sessions = sessionsOf(activations, 0, activations.length)
  const sizes = Map.groupBy(sessions, ({ task_id }) => task_id)
  const strata = Map.groupBy([...sessions.keys()], (i) => {
    const task = sessions[i]?.task_id ?? null
    return (sizes.get(task)?.length ?? 0) < STRATUM_CLUSTERS ? null : task
  })
  const values = Float64Array.from(sessions, ({ value }) => value)
  for (const indices of strata.values()) {
    const level = indices.reduce((sum, i) => sum + (values[i] ?? 0), 0) / indices.length
    for (const i of indices) values[i] = (values[i] ?? 0) - level
  }
  const offsets = [0]
  for (const { sessions: own } of activations) offsets.push((offsets.at(-1) ?? 0) + own.length)
  return {
    values,
    offsets: Int32Array.from(offsets),
    strata: [...strata.values()].map((indices) => Int32Array.from(indices)),
  }
}

/** Traces of a newest activation at which it is looked at; fixed, so that looking costs no certainty. */
export const LOOKS = [30, 60, 120, 240, 480] as const
const FOCUSED_ALPHA = 0.04
const SCAN_ALPHA = 0.01
const MERGE_ALPHA = 0.05
const LEAST_DELTA = 0.03
const RECOVERY_MARGIN = 0.05
const MIN_CLUSTERS = 8
const REFERENCE_CLUSTERS = 2000
const STRATUM_CLUSTERS = 20
