import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Turns a function of many items into one of one item: items of a group that arrive while a call for it
 * is under way go together into the next one, `max` at most. Alone, an item waits for nothing. When a
 * call fails, each item of it is rejected with the same error. Every process has groups of its own; the
 * first item of a group brings the context for all of it. A call is a part of the work
 * (`current-work.ts`) of its first item.
 * @param groupOf what items must have in common to go together; default nothing
 * @param processOf what all contexts of a process have in common; default the context itself
 */
export function batchCalls<Context extends object, Item, Result>(
  work: (context: Context, items: Item[]) => Promise<readonly Result[]>,
  max: number,
  groupOf: (item: Item) => string = () => '',
  processOf: (context: Context) => object = (context) => context,
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
      const taken = waiting.splice(0, max)
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

interface Waiting<Item, Result> {
  item: Item
  /** Runs a function in the asynchronous context of the caller. */
  asCalled: <T>(work: () => T) => T
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
