import type { Attempt } from './attempts.ts'
import { compareAttempts, compareReplay, compareTurns, isReplayOf } from './comparisons.ts'
import type { Pair } from './comparisons.ts'
import type { Dropped } from './messages.ts'

/** Name and identifier of the scores of two traces that a person compared: 1 and 0. */
export const PREFERENCE = 'preference'

/** What a person said who compared two attempts. */
export interface Preference {
  /** Whether it is the better one; null where nobody compared it. */
  readonly preferred: boolean | null
  /** What the two of an imported pair have in common; null for any others of a task. */
  readonly pair_id: string | null
}

/**
 * The pairs of one task: a good attempt and a bad one that say the same up to a turn of the assistant.
 * Every good attempt is compared with every bad one of its group and with the bad ones that it replays
 * or that replay it, and each comparison that gives no pair is counted by its reason. Where more are
 * possible than may be used, those with the greatest distance in quality go first, then by the chosen
 * trace's id, then by the rejected one's.
 * @param attempts those of a quality in between are neither, see `isMiddling`
 * @returns `dropped` counts comparisons, and attempts that had nothing to be compared with
 */
export function choosePairs<A extends Attempt>(attempts: readonly A[]): Choice<A> {
  const { dropped, drop } = openCount()
  const good = attempts.filter(({ quality }) => quality >= CHOSEN_AT)
  const bad = attempts.filter(({ quality }) => quality <= REJECTED_AT)
  const possible = compareAll(good, bad, comparisonOf, drop)
  return { pairs: limit(possible, drop), dropped }
}

/**
 * The pairs that a person made of the attempts at one task. They go without the bounds on quality,
 * likeness and length that comparisons of attempts have: equal ones alone give none.
 */
export function choosePreferences<A extends Attempt & Preference>(
  attempts: readonly A[],
): Choice<A> {
  const { dropped, drop } = openCount()
  const groups = Map.groupBy(attempts, ({ pair_id, group }) => `${pair_id ?? ''} ${group}`)
  const pairs = [...groups.values()].flatMap((group) => {
    const good = group.filter(({ preferred }) => preferred === true)
    const bad = group.filter(({ preferred }) => preferred === false)
    return limit(
      compareAll(good, bad, () => compareTurns, drop),
      drop,
    )
  })
  return { pairs, dropped }
}

/** Not good enough to be chosen, not bad enough to be rejected. */
export function isMiddling(quality: number) {
  return quality < CHOSEN_AT && quality > REJECTED_AT
}

/** How two attempts at one task are compared; undefined where they are not. */
function comparisonOf(one: Attempt, other: Attempt): Compare | undefined {
  if (isReplayOf(one, other) || isReplayOf(other, one)) return compareReplay
  return one.group === other.group ? compareAttempts : undefined
}

function compareAll<A extends Attempt>(
  good: readonly A[],
  bad: readonly A[],
  comparisonOf: (chosen: A, rejected: A) => Compare | undefined,
  drop: Drop,
): Pair<A>[] {
  const unpaired = new Set([...good, ...bad])
  const pairs: Pair<A>[] = []
  for (const chosen of good) {
    for (const rejected of bad) {
      const found = comparisonOf(chosen, rejected)?.(chosen, rejected)
      if (!found) continue
      unpaired.delete(chosen)
      unpaired.delete(rejected)
      if ('reason' in found) drop(found.reason)
      else pairs.push(found)
    }
  }
  for (const _ of unpaired) drop('unpaired')
  return pairs
}

function openCount() {
  const dropped = new Map<string, number>()
  const drop: Drop = (reason) => dropped.set(reason, (dropped.get(reason) ?? 0) + 1)
  return { dropped, drop }
}

function limit<A extends Attempt>(pairs: readonly Pair<A>[], drop: Drop) {
  const seen = new Set<string>()
  const replayed = new Set<Attempt>()
  const uses = new Map<Attempt, number>()
  const usesOf = (attempt: Attempt) => uses.get(attempt) ?? 0
  const taken: Pair<A>[] = []
  for (const pair of pairs.toSorted(byDistance)) {
    const { chosen, rejected, replay, turn } = pair
    const { group } = replay ?? chosen
    const key = `${group} ${chosen.prefixes[turn]} ${rejected.prefixes[turn]}`
    const source = replay && (replay === chosen ? rejected : chosen)
    if (seen.has(key)) drop('duplicate')
    else if (taken.length === PAIRS_A_TASK) drop('task_limit')
    else if (Math.max(usesOf(chosen), usesOf(rejected)) === PAIRS_A_TRACE) drop('trace_limit')
    else if (source && replayed.has(source)) drop('replay_limit')
    else {
      seen.add(key)
      taken.push(pair)
      if (source) replayed.add(source)
      for (const used of [chosen, rejected]) uses.set(used, usesOf(used) + 1)
    }
  }
  return taken
}

function byDistance(a: Pair, b: Pair) {
  const distance = ({ chosen, rejected }: Pair) => chosen.quality - rejected.quality
  return (
    distance(b) - distance(a) ||
    a.chosen.index - b.chosen.index ||
    a.rejected.index - b.rejected.index
  )
}

/** Quality from which an attempt is good enough to be chosen, and up to which bad enough to be rejected. */
const CHOSEN_AT = 0.8
const REJECTED_AT = 0.4
const PAIRS_A_TASK = 4
const PAIRS_A_TRACE = 2

type Compare = <A extends Attempt>(chosen: A, rejected: A) => Pair<A> | Dropped
type Drop = (reason: string) => void
interface Choice<A extends Attempt> {
  readonly pairs: readonly Pair<A>[]
  readonly dropped: ReadonlyMap<string, number>
}
