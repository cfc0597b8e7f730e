import type { WorkerContext } from './context.ts'

export interface Polling {
  /** Looks now instead of at the next poll. */
  wake(): void
  /** Looks no more. Resolves when a look under way is over. */
  end(): Promise<void>
}

/**
 * Looks for the jobs of a queue, by calling `take`, at each wake-up and at the latest every
 * `POLL_INTERVAL_MS`; again at once when it returns true.
 */
export function openPolling(
  { log, meter }: WorkerContext,
  queue: string,
  take: () => Promise<boolean>,
): Polling {
  const waiting = openWait()
  let ended = false

  async function poll() {
    while (!ended) {
      waiting.begin()
      try {
        if (await take()) continue
        const notified = await waiting.until(POLL_INTERVAL_MS)
        meter.lookedForJobs(queue, notified ? 'notified' : 'polled')
      } catch (err) {
        log.warn({ queue, err }, 'could not fetch jobs')
        await waiting.until(RETRY_MS)
      }
    }
  }
  // The caller has what this returns before the first look.
  const polling = Promise.resolve().then(poll)

  return {
    wake: waiting.end,
    async end() {
      ended = true
      waiting.end()
      await polling
    },
  }
}

/**
 * A wait that can be ended early. `begin` comes before the work that the wait follows, so that an end
 * during that work counts as well.
 */
function openWait() {
  let ended = false
  let wakeUp = () => {}
  return {
    begin() {
      ended = false
    },
    end() {
      ended = true
      wakeUp()
    },
    /** Resolves to true when the wait was ended before the time was over. */
    async until(ms: number) {
      if (ended) return true
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        wakeUp = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      return ended
    },
  }
}

/** The longest that a job waits unseen when every notification is lost. */
const POLL_INTERVAL_MS = 2000
const RETRY_MS = 500
