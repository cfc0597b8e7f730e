import { setTimeout as pause } from 'node:timers/promises'
import type { Slots } from './slots.ts'

/**
 * Lets a job that may have ended its process run beside no other, so that nobody else is lost with it.
 * Shared by the queues of a process.
 */
export interface Solitude {
  /** The queues take no jobs meanwhile. */
  isTaken(): boolean
  join(queue: SolitudeQueue): void
  /**
   * Tells all other runs to stop, and resolves when they have; those that do not stop in time are left.
   * Call what it resolves to when the run has ended. Undefined while another run is alone.
   */
  enter(queueJobId: string): Promise<() => void> | undefined
}

/** A queue of the process. */
export interface SolitudeQueue {
  readonly slots: Slots
  /** Looks for jobs. */
  readonly wake: () => void
  /** Resolves when no look for jobs is under way, and what it found has been given slots. */
  readonly looked: () => Promise<unknown>
}

export function openSolitude(): Solitude {
  const queues: SolitudeQueue[] = []
  /** Who is inside; one for each entry, because a job may come again. */
  let inside: symbol | undefined

  function leave(entry: symbol) {
    if (inside !== entry) return
    inside = undefined
    for (const { wake } of queues) wake()
  }

  return {
    isTaken: () => inside !== undefined,
    join: (queue) => void queues.push(queue),
    enter(id) {
      if (inside !== undefined) return undefined
      const entry = Symbol(id)
      inside = entry
      const ended = queues.map(async ({ slots, looked }) => {
        const stopped = slots.stopAllBut(id, 'draining')
        await looked()
        // What was found meanwhile goes back to the queue.
        await Promise.all([stopped, slots.stopAllBut(id, 'draining')])
      })
      return Promise.race([Promise.all(ended), pause(STOP_MS, undefined, { ref: false })]).then(
        () => {
          setTimeout(leave, ALONE_MS, entry).unref()
          return () => leave(entry)
        },
      )
    },
  }
}

/** As long as a handler may take to reach a safe point. */
const STOP_MS = 10_000
/** What ends its process does so early; a job of hours is not to keep the process to itself. */
const ALONE_MS = 60_000
