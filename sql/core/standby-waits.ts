/**
 * Who waits until a standby has replayed a position, and what that tells of its lag. Whoever has given up is
 * kept until the position is reached, to know how long that took.
 */
export function openWaits() {
  const waiting: Wait[] = []
  let lastLagMs = 0

  const ageMs = () => (waiting[0] ? performance.now() - waiting[0].since : 0)
  const lagMs = () => Math.max(lastLagMs, ageMs())

  return {
    /**
     * Resolves with true once the position is reached, with false after `WAIT_MS`, or at once where the
     * standby is known to lag by more than that.
     */
    async wait(bytes: number): Promise<boolean> {
      const isLate = lagMs() > WAIT_MS
      // One that is not waited for is enough to learn that the standby has come closer.
      if (isLate && waiting.length > 0) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      waiting.push({ bytes, since: performance.now(), tell: resolve })
      if (isLate) return false
      const timer = setTimeout(resolve, WAIT_MS, false)
      return promise.finally(() => clearTimeout(timer))
    },
    /** The standby has replayed everything before this position. */
    reached(bytes: number) {
      const now = performance.now()
      for (let i = waiting.length - 1; i >= 0; i--) {
        const wait = waiting[i] as Wait
        if (wait.bytes > bytes) continue
        lastLagMs = now - wait.since
        waiting.splice(i, 1)
        wait.tell(true)
      }
    },
    /** Nobody waits any more, and the lag is not known. */
    giveUp() {
      for (const { tell } of waiting.splice(0)) tell(false)
      lastLagMs = 0
    },
    count: () => waiting.length,
    /** How long the first has been waiting. */
    ageMs,
    /** How long the position took that was reached last, or how long one has been waited for. */
    lagMs,
  }
}

/** How long one waits at most. */
const WAIT_MS = 100

interface Wait {
  readonly bytes: number
  readonly since: number
  readonly tell: (isReached: boolean) => void
}
