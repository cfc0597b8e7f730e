import { awaitedLater } from '../runtime/awaited-later.ts'

/**
 * Yields the result of `work` for each item, in the order of the items, and runs up to `ahead` of them
 * at once. An error is thrown at its item's turn. When the caller stops early, the running ones are
 * awaited.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  try {
    for await (const item of items) {
      running.push(awaitedLater(work(item)))
      const next = running.length >= ahead ? running.shift() : undefined
      if (next) yield await next
    }
    for (let next = running.shift(); next; next = running.shift()) yield await next
  } finally {
    await Promise.allSettled(running)
  }
}
