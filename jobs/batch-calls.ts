/**
 * Turns a function of many items into one of one item: items of a group that arrive while a call for it
 * is under way go together into the next one, `max` at most. Alone, an item waits for nothing. When a
 * call fails, each item of it is rejected with the same error. Every context, such as that of a
 * process, has groups of its own.
 * @param groupOf what items must have in common to go together; default nothing
 * @param weights of the items of one call, which end it at `max` of them together, or after one
 */
export function batchCalls<Context extends object, Item, Result>(
  work: (context: Context, items: Item[]) => Promise<readonly Result[]>,
  max: number,
  groupOf: (item: Item) => string = () => '',
  weights: Weights<Item> = { of: () => 0, max: Infinity },
): (context: Context, item: Item) => Promise<Result> {
  const contexts = new WeakMap<Context, Map<string, Waiting<Item, Result>[]>>()

  function groupsOf(context: Context) {
    const groups = contexts.get(context) ?? new Map<string, Waiting<Item, Result>[]>()
    contexts.set(context, groups)
    return groups
  }

  async function drain(context: Context, group: string, waiting: Waiting<Item, Result>[]) {
    // So that what is given at once goes together from the first call on.
    await Promise.resolve()
    while (waiting.length > 0) {
      const taken = waiting.splice(0, countTogether(waiting, max, weights))
      try {
        const items = taken.map(({ item }) => item)
        const results = await work(context, items)
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
      if (waiting) return void waiting.push({ item, resolve, reject })
      const opened = [{ item, resolve, reject }]
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

interface Weights<Item> {
  readonly of: (item: Item) => number
  readonly max: number
}
interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
