/** The promise itself, whose failure does not count as unhandled before somebody awaits it. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
