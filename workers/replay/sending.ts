import { setTimeout as pause } from 'node:timers/promises'

/** Requests that are under way. */
export interface Sending {
  count(): number
  /** @param work rejects only for what ends the whole */
  start(work: (signal: AbortSignal) => Promise<void>): void
  /** Resolves when one of them ends, or after `ms`. @throws what one of them was rejected with */
  oneEnds(ms: number, signal: AbortSignal): Promise<void>
  /** Resolves when all of them have ended, after `ms`, or when the signal aborts. */
  allEnd(ms: number, signal: AbortSignal): Promise<void>
  /** Aborts those that go on after `graceMs`, and resolves when all have ended. */
  end(graceMs: number): Promise<void>
}

export function openSending(): Sending {
  const stop = new AbortController()
  const busy = new Set<Promise<void>>()
  let failed: { error: unknown } | undefined

  /** Waits for the promises, and no longer than `ms` or until the signal aborts. */
  async function wait(promises: Iterable<Promise<unknown>>, ms: number, signal: AbortSignal) {
    const ended = new AbortController()
    const waited = AbortSignal.any([ended.signal, signal])
    // Rejects when it is aborted, which is an end of the wait like any other.
    const late = pause(ms, undefined, { signal: waited }).catch(() => undefined)
    await Promise.race([...promises, late])
    ended.abort()
  }

  return {
    count: () => busy.size,
    start(work) {
      const sent = work(stop.signal)
        .catch((error: unknown) => {
          failed ??= { error }
        })
        .finally(() => busy.delete(sent))
      busy.add(sent)
    },
    async oneEnds(ms, signal) {
      await wait(busy, ms, signal)
      if (failed) throw failed.error
    },
    allEnd: (ms, signal) => wait([Promise.all(busy)], ms, signal),
    async end(graceMs) {
      const all = Promise.all(busy)
      await Promise.race([all, pause(graceMs, undefined, { ref: false })])
      stop.abort()
      await all
    },
  }
}

/** Makes a function that runs each work when the one before it has ended, however it did. */
export function openLine() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}
