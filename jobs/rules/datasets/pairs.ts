import { compareTurns, isNearIdentical } from './attempts.ts'
import type { Attempt, Pair } from './attempts.ts'
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
 * Every good attempt is compared with every bad one of its group, and each comparison that gives no
 * pair is counted by its reason. Where more are possible than may be used, those with the greatest
 * distance in quality go first, then by the chosen trace's id, then by the rejected one's.
 * @param attempts those of a quality in between are neither, see `isMiddling`
 * @returns `dropped` counts comparisons, and attempts that had nothing to be compared with
 */
export function choosePairs<A extends Attempt>(attempts: readonly A[]): Choice<A> {
  const { dropped, drop } = openCount()
  const groups = [...Map.groupBy(attempts, ({ group }) => group).values()]
  const possible = groups.flatMap((group) => {
    const good = group.filter(({ quality }) => quality >= CHOSEN_AT)
    const bad = group.filter(({ quality }) => quality <= REJECTED_AT)
    return compareAll(good, bad, compareAttempts, drop)
  })
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
    return limit(compareAll(good, bad, compareTurns, drop), drop)
  })
  return { pairs, dropped }
}

/** Not good enough to be chosen, not bad enough to be rejected. */
export function isMiddling(quality: number) {
  return quality < CHOSEN_AT && quality > REJECTED_AT
}

function compareAll<A extends Attempt>(
  good: readonly A[],
  bad: readonly A[],
  compare: (chosen: A, rejected: A) => Pair<A> | Dropped,
  drop: Drop,
): Pair<A>[] {
  if (good.length === 0 || bad.length === 0) for (const _ of [...good, ...bad]) drop('unpaired')
  return good.flatMap((chosen) =>
    bad.flatMap((rejected) => {
      const found = compare(chosen, rejected)
      if (!('reason' in found)) return [found]
      drop(found.reason)
      return []
    }),
  )
}

function compareAttempts<A extends Attempt>(chosen: A, rejected: A): Pair<A> | Dropped {
  if (chosen.quality - rejected.quality < MARGIN) return { reason: 'margin' }
  const found = compareTurns(chosen, rejected)
  if ('reason' in found) return found
  if (isNearIdentical(found)) return { reason: 'near_identical' }
  return Math.abs(found.lengthRatio) > MAX_LENGTH_RATIO ? { reason: 'length_ratio' } : found
}

function openCount() {
  const dropped = new Map<string, number>()
  const drop: Drop = (reason) => dropped.set(reason, (dropped.get(reason) ?? 0) + 1)
  return { dropped, drop }
}

function limit<A extends Attempt>(pairs: readonly Pair<A>[], drop: Drop) {
  const seen = new Set<string>()
  const uses = new Map<Attempt, number>()
  const usesOf = (attempt: Attempt) => uses.get(attempt) ?? 0
  const taken: Pair<A>[] = []
  for (const pair of pairs.toSorted(byDistance)) {
    const { chosen, rejected, turn } = pair
    const key = `${chosen.prefixes[turn]} ${rejected.prefixes[turn]}`
    if (seen.has(key)) drop('duplicate')
    else if (taken.length === PAIRS_A_TASK) drop('task_limit')
    else if (Math.max(usesOf(chosen), usesOf(rejected)) === PAIRS_A_TRACE) drop('trace_limit')
    else {
      seen.add(key)
      taken.push(pair)
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
/** Least distance in quality. With these three, mislabelled pairs fall from 20 % to 5 %. */
const MARGIN = 0.3
const PAIRS_A_TASK = 4
const PAIRS_A_TRACE = 2
/** Beyond it a trainer learns to be long or short instead of right. */
const MAX_LENGTH_RATIO = Math.log(2)

type Drop = (reason: string) => void
interface Choice<A extends Attempt> {
  readonly pairs: readonly Pair<A>[]
  readonly dropped: ReadonlyMap<string, number>
}
