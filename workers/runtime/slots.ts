import type { QueuedJob, StopReason } from './attempt.ts'

/** The slots of one queue in this process, each of which holds one run. */
export interface Slots {
  readonly total: number
  /** Fills a slot; `onEnd` is called when it is free again. */
  start(queued: QueuedJob, run: (abort: AbortController) => Promise<void>): void
  /** Aborts one run; its handler stops at its next safe point. */
  stop(queueJobId: string, reason: StopReason): void
  stopAll(reason: StopReason): void
  /** Aborts all runs but one; resolves when they have ended. */
  stopAllBut(queueJobId: string, reason: StopReason): Promise<unknown>
  /** Slots that can be filled. */
  free(): number
  running(): QueuedJob[]
  /** How many slots each organization's jobs hold. */
  held(): ReadonlyMap<string, number>
  /**
   * Gives back the slots of runs that were aborted more than `OVERRUN_MS` ago and still go on, and
   * returns those that this call found. Their claims are no longer kept alive and may expire. Only the
   * end of the process ends such a run. Once as many runs overran as there are slots, none is free.
   */
  findOverruns(): readonly Overrun[]
  /** All runs, of this call or an earlier one, that overran and have not ended since. */
  overruns(): readonly Overrun[]
  /** Resolves when nothing runs, overruns included. */
  allEnded(): Promise<unknown>
}

/** A run that goes on after it was aborted. */
export interface Overrun {
  readonly queue: string
  readonly queueJobId: string
  readonly jobId: string | undefined
  readonly reason: StopReason
  /** When it was aborted. */
  readonly toldAt: Date
}

export function openSlots(total: number, now: () => Date, onEnd: () => void): Slots {
  const running = new Map<string, Taken>()
  const overran = new Map<Taken, Overrun>()

  function start(queued: QueuedJob, run: (abort: AbortController) => Promise<void>) {
    const abort = new AbortController()
    const taken: Taken = { queued, abort, stopped: undefined, end: Promise.resolve() }
    running.set(queued.id, taken)
    taken.end = run(abort).finally(() => {
      if (running.get(queued.id) === taken) running.delete(queued.id)
      overran.delete(taken)
      onEnd()
    })
  }

  function stop(id: string, reason: StopReason) {
    const taken = running.get(id)
    if (!taken || taken.stopped) return
    taken.stopped = { reason, toldAt: now() }
    taken.abort.abort(reason)
  }

  function findOverruns() {
    const deadline = now().getTime() - OVERRUN_MS
    const found: Overrun[] = []
    for (const taken of running.values()) {
      const { queued, stopped } = taken
      if (!stopped || stopped.toldAt.getTime() > deadline) continue
      const overrun = describe(queued, stopped)
      running.delete(queued.id)
      overran.set(taken, overrun)
      found.push(overrun)
    }
    return found
  }

  return {
    total,
    start,
    stop,
    stopAll: (reason) => [...running.keys()].forEach((id) => stop(id, reason)),
    stopAllBut(id, reason) {
      const others = [...running.values()].filter(({ queued }) => queued.id !== id)
      for (const { queued } of others) stop(queued.id, reason)
      return Promise.all(others.map(({ end }) => end))
    },
    free: () => (overran.size < total ? total - running.size : 0),
    running: () => [...running.values()].map(({ queued }) => queued),
    held() {
      const held = new Map<string, number>()
      for (const { queued } of running.values()) {
        if (queued.groupId) held.set(queued.groupId, (held.get(queued.groupId) ?? 0) + 1)
      }
      return held
    },
    findOverruns,
    overruns: () => [...overran.values()],
    allEnded: () => Promise.all([...running.values(), ...overran.keys()].map(({ end }) => end)),
  }
}

function describe({ name, id, data }: QueuedJob, stopped: Stopped): Overrun {
  return { queue: name, queueJobId: id, jobId: data.job_id, ...stopped }
}

interface Taken {
  readonly queued: QueuedJob
  readonly abort: AbortController
  stopped: Stopped | undefined
  /** Never rejects. */
  end: Promise<void>
}

interface Stopped {
  readonly reason: StopReason
  readonly toldAt: Date
}

/** How long a handler may take to reach a safe point once its run was aborted. */
const OVERRUN_MS = 10_000
