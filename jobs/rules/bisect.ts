import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { scan } from './interval-scan.ts'
import type { Boundary, ScanSeries } from './interval-scan.ts'
import { compareArms, lowerBound, summarize, welch } from './statistics.ts'
import type { Arm, Observation } from './statistics.ts'

/** A session's mean; `trace_id` is its worst trace. */
export interface Session extends Observation {
  readonly n: number
}

/** What was measured while one manifest was active, in order of time. */
export interface Episode {
  readonly manifest_id: string
  readonly manifest_hash: string
  readonly version_label: string
  readonly activated_at: Date
  readonly sessions: readonly Session[]
}

/** A version from which on a metric was worse. */
export interface Suspect {
  /** Place of the introducing episode. */
  readonly episode: number
  readonly delta: number
  /** To the reference's mean; null when that is 0. */
  readonly relative_delta: number | null
  readonly p_value: number
  /** What the metric was before, frozen: recovery is measured against it. */
  readonly reference: Arm
  /** `drift` when the change does not coincide with a version: then no manifest is to blame. */
  readonly cause: 'version' | 'drift'
  /** Episodes one of which is to blame with a probability of 90 %. */
  readonly credible: readonly number[]
  /** Sessions measured since, for examples. */
  readonly affected: readonly Observation[]
}

/**
 * How many of the looks at the newest episode are due. It is tested on what it had at the last of
 * them, so that a test repeated between two looks tells nothing new.
 */
export function looksDue({ sessions }: Episode) {
  const traces = countTraces(sessions)
  return LOOKS.filter((look) => traces >= look).length
}

/**
 * The episodes as they are tested: the newest one as it was at its last look and left out before its
 * first, and those of too few sessions to be told apart taken together with the next one.
 */
export function prepareEpisodes(episodes: readonly Episode[]): Episode[] {
  const newest = episodes.at(-1)
  if (!newest) return []
  const look = LOOKS[looksDue(newest) - 1]
  const sessions = look === undefined ? [] : firstSessions(newest.sessions, look)
  return joinShortEpisodes([...episodes.slice(0, -1), { ...newest, sessions }])
}

/**
 * The versions after which the metric was worse, in order. Two tests share what may be false: the
 * newest episode against the stable segment before it, at .04, and a scan of the whole history at
 * .01, both spread evenly over the looks.
 * @param seed of the permutations: equal data and seed give equal suspects
 */
export function findSuspects(episodes: readonly Episode[], seed: number): Suspect[] {
  if (episodes.length < 2) return []
  const generator = xoroshiro128plus(seed)
  const random = () => (generator.next() >>> 0) / 2 ** 32
  const series = toSeries(episodes)
  const found = scan(series, {
    alpha: SCAN_ALPHA / LOOKS.length,
    minClusters: MIN_CLUSTERS,
    random,
  })
  const boundaries = mergeAlike(episodes, found)
  const suspects = boundaries.flatMap((boundary, i) => {
    const [before, after] = around(episodes, boundaries, i)
    return describe(episodes, boundary, before, after) ?? []
  })
  const newest = episodes.length - 1
  const isKnown = boundaries.some(({ episode }) => episode === newest)
  const alert = isKnown ? undefined : testNewest(episodes, boundaries.at(-1)?.episode ?? 0)
  return alert ? [...suspects, alert] : suspects
}

/** Whether a later segment is as good again as the metric was, by a margin of .05 at 95 %. */
export function isRecovered(reference: Arm, since: readonly Observation[]) {
  if (since.length < MIN_CLUSTERS) return false
  return lowerBound(welch(reference, summarize(since))) > -RECOVERY_MARGIN
}

function firstSessions(sessions: readonly Session[], traces: number) {
  let counted = 0
  const end = sessions.findIndex(({ n }) => (counted += n) >= traces)
  return end < 0 ? sessions : sessions.slice(0, end + 1)
}

function joinShortEpisodes(episodes: readonly Episode[]): Episode[] {
  const joined: Episode[] = []
  let waiting: readonly Session[] = []
  for (const episode of episodes) {
    const sessions = [...waiting, ...episode.sessions]
    const isShort = sessions.length < MIN_CLUSTERS
    waiting = isShort ? sessions : []
    if (!isShort) joined.push({ ...episode, sessions })
  }
  return joined
}

function countTraces(sessions: readonly Session[]) {
  return sessions.reduce((sum, { n }) => sum + n, 0)
}

/** The newest episode against the segment that was stable before it. */
function testNewest(episodes: readonly Episode[], stableFrom: number): Suspect | undefined {
  const newest = episodes.length - 1
  const after = episodes[newest]?.sessions ?? []
  const before = sessionsOf(episodes, stableFrom, newest).slice(-REFERENCE_CLUSTERS)
  if (countTraces(episodes[newest]?.sessions ?? []) < LOOKS[0]) return undefined
  const { p_value } = compareArms(before, after)
  if (p_value > FOCUSED_ALPHA / LOOKS.length) return undefined
  const boundary = { episode: newest, cause: 'version', credible: [newest] } as const
  return describe(episodes, boundary, before, after)
}

/** Undefined for what is no loss of a size that matters. */
function describe(
  episodes: readonly Episode[],
  { episode, cause, credible }: Boundary,
  before: readonly Observation[],
  after: readonly Observation[],
): Suspect | undefined {
  const { delta, p_value, baseline } = compareArms(before, after)
  if (delta > -LEAST_DELTA) return undefined
  const reference = summarize(before.slice(-REFERENCE_CLUSTERS))
  const relative_delta = baseline.mean === 0 ? null : delta / baseline.mean
  const affected = sessionsOf(episodes, episode, episode + 1)
  return { episode, delta, relative_delta, p_value, reference, cause, credible, affected }
}

/** Takes away boundaries whose sides do not differ, the weakest first. */
function mergeAlike(episodes: readonly Episode[], found: readonly Boundary[]): Boundary[] {
  const kept = [...found]
  for (;;) {
    const compared = kept.map((_, i) => compareArms(...around(episodes, kept, i)))
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
function around(episodes: readonly Episode[], boundaries: readonly Boundary[], i: number) {
  const at = boundaries[i]?.episode ?? 0
  const from = boundaries[i - 1]?.episode ?? 0
  const to = boundaries[i + 1]?.episode ?? episodes.length
  return [sessionsOf(episodes, from, at), sessionsOf(episodes, at, to)] as const
}

function sessionsOf(episodes: readonly Episode[], from: number, to: number) {
  return episodes.slice(from, to).flatMap(({ sessions }) => sessions)
}

/** Tasks of few sessions are one stratum; a stratum's own level is taken out of its values. */
function toSeries(episodes: readonly Episode[]): ScanSeries {
  const sessions = sessionsOf(episodes, 0, episodes.length)
  const sizes = Map.groupBy(sessions, ({ task_id }) => task_id)
  const strata = Map.groupBy([...sessions.keys()], (i) => {
    const task = sessions[i]?.task_id ?? null
    return (sizes.get(task)?.length ?? 0) < STRATUM_CLUSTERS ? null : task
  })
  const values = Float64Array.from(sessions, ({ value }) => value)
  for (const places of strata.values()) {
    const level = places.reduce((sum, i) => sum + (values[i] ?? 0), 0) / places.length
    for (const i of places) values[i] = (values[i] ?? 0) - level
  }
  const offsets = [0]
  for (const { sessions: own } of episodes) offsets.push((offsets.at(-1) ?? 0) + own.length)
  return { values, offsets, strata: [...strata.values()].map((places) => Int32Array.from(places)) }
}

/** Traces of a newest episode at which it is looked at; fixed, so that looking costs no certainty. */
export const LOOKS = [30, 60, 120, 240, 480] as const
const FOCUSED_ALPHA = 0.04
const SCAN_ALPHA = 0.01
const MERGE_ALPHA = 0.05
const LEAST_DELTA = 0.03
const RECOVERY_MARGIN = 0.05
const MIN_CLUSTERS = 8
const REFERENCE_CLUSTERS = 2000
const STRATUM_CLUSTERS = 20
