import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Turns a function of many items into one of one item: items of a group that arrive while a call for it
 * is under way go together into the next one, `max` at most. Alone, an item waits for nothing. When a
 * call fails, each item of it is rejected with the same error. Every process has groups of its own; the
 * first item of a group brings the context for all of it. A call is a part of the work
 * (`current-work.ts`) of its first item.
 */
export function batchCalls<Context extends object, Item, Result>(
  work: (context: Context, items: Item[]) => Promise<readonly Result[]>,
  max: number,
  {
    groupOf = () => '',
    processOf = (context) => context,
    weights = { of: () => 0, max: Infinity },
  }: Grouping<Context, Item> = {},
): (context: Context, item: Item) => Promise<Result> {
  const processes = new WeakMap<object, Map<string, Waiting<Item, Result>[]>>()

  function groupsOf(context: Context) {
    const process = processOf(context)
    const groups = processes.get(process) ?? new Map<string, Waiting<Item, Result>[]>()
    processes.set(process, groups)
    return groups
  }

  async function drain(context: Context, group: string, waiting: Waiting<Item, Result>[]) {
    // So that what is given at once goes together from the first call on.
    await Promise.resolve()
    while (waiting.length > 0) {
      const taken = waiting.splice(0, countTogether(waiting, max, weights))
      try {
        const items = taken.map(({ item }) => item)
        const results = (await taken[0]?.asCalled(() => work(context, items))) ?? []
        taken.forEach(({ resolve }, i) => resolve(results[i] as Result))
      } catch (error) {
        for (const { reject } of taken) reject(error)
      }
    }
    groupsOf(context).delete(group)
  }

  return (context, item) =>
    new Promise((resolve, reject) => {
      const groups = groupsOf(context)
      const group = groupOf(item)
      const waiting = groups.get(group)
      const added = { item, asCalled: AsyncLocalStorage.snapshot(), resolve, reject }
      if (waiting) return void waiting.push(added)
      const opened = [added]
      groups.set(group, opened)
      void drain(context, group, opened)
    })
}

/** How many of those that wait go into one call. */
function countTogether<Item>(
  waiting: readonly { readonly item: Item }[],
  max: number,
  weights: Weights<Item>,
) {
  let weight = 0
  let count = 0
  for (const { item } of waiting) {
    weight += weights.of(item)
    if (count > 0 && (count === max || weight > weights.max)) break
    count++
  }
  return count
}

interface Grouping<Context, Item> {
  /** What items must have in common to go together; default nothing. */
  readonly groupOf?: (item: Item) => string
  /** What all contexts of a process have in common; default the context itself. */
  readonly processOf?: (context: Context) => object
  /** Of the items of one call, which end it at `max` of them together, or after one; default none. */
  readonly weights?: Weights<Item>
}

interface Weights<Item> {
  readonly of: (item: Item) => number
  readonly max: number
}
interface Waiting<Item, Result> {
  item: Item
  /** Runs a function in the asynchronous context of the caller. */
  asCalled: <T>(work: () => T) => T
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
