/**
 * Turns a function of many items into one of one item: items of a group that arrive while a call for it
 * is under way go together into the next one, `max` at most. Alone, an item waits for nothing. When a
 * call fails, each item of it is rejected with the same error.
 * @param groupOf what items must have in common to go together; default nothing
 */
export function gather<Item, Result>(
  work: (items: Item[]) => Promise<readonly Result[]>,
  max: number,
  groupOf: (item: Item) => string = () => '',
): (item: Item) => Promise<Result> {
  const groups = new Map<string, Waiting<Item, Result>[]>()

  async function drain(group: string, waiting: Waiting<Item, Result>[]) {
    // So that what is given at once goes together from the first call on.
    await Promise.resolve()
    while (waiting.length > 0) {
      const taken = waiting.splice(0, max)
      try {
        const results = await work(taken.map(({ item }) => item))
        taken.forEach(({ resolve }, i) => resolve(results[i] as Result))
      } catch (error) {
        for (const { reject } of taken) reject(error)
      }
    }
    groups.delete(group)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const group = groupOf(item)
      const waiting = groups.get(group)
      if (waiting) return void waiting.push({ item, resolve, reject })
      const opened = [{ item, resolve, reject }]
      groups.set(group, opened)
      void drain(group, opened)
    })
}

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
