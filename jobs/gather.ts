/**
 * Turns a function of many items into one of one item: items that arrive while a call is under way go
 * together into the next one, `max` at most. Alone, an item waits for nothing. When a call fails, each
 * item of it is rejected with the same error.
 */
export function gather<Item, Result>(
  work: (items: Item[]) => Promise<readonly Result[]>,
  max: number,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let busy = false

  async function drain() {
    busy = true
    while (waiting.length > 0) {
      const taken = waiting.slice(0, max)
      waiting = waiting.slice(max)
      try {
        const results = await work(taken.map(({ item }) => item))
        taken.forEach(({ resolve }, i) => resolve(results[i] as Result))
      } catch (error) {
        for (const { reject } of taken) reject(error)
      }
    }
    busy = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!busy) void drain()
    })
}

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}
