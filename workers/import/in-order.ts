/**
 * Yields what `work` makes of each item, in the order of the items, with up to `ahead` of them under
 * way. An error of one comes out at its turn; when the caller stops early, those under way are awaited.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  try {
    for await (const item of items) {
      const result = work(item)
      // It is awaited at its turn; until then a failure is nobody's.
      result.catch(() => undefined)
      running.push(result)
      if (running.length >= ahead) yield await (running.shift() as Promise<Result>)
    }
    while (running.length > 0) yield await (running.shift() as Promise<Result>)
  } finally {
    await Promise.allSettled(running)
  }
}
