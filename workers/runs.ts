import type { QueuedJob } from './queued-job.ts'
import type { StopReason } from './give-up.ts'

/** The runs of one queue in this process, each in one of its slots. */
export interface Runs {
  /** Fills a slot; `onEnd` is called when it is free again. */
  start(queued: QueuedJob, run: (abort: AbortController) => Promise<void>): void
  /** Tells one run to stop, which is its handler's to do. */
  stop(queueJobId: string, reason: StopReason): void
  stopAll(reason: StopReason): void
  /** Slots that can be filled. */
  free(): number
  running(): QueuedJob[]
  /** Slots by organization. */
  held(): ReadonlyMap<string, number>
  /**
   * Gives back the slots of runs that were told to stop longer than `OVERRUN_MS` ago and have not.
   * Returns those that this call found. Their claims are theirs no more and may run out; nothing but
   * the end of the process ends such a run, so once all slots were lost that way none is free.
   */
  findOverruns(): readonly Overrun[]
  /** All runs, of this call or an earlier one, that overran and have not ended since. */
  overruns(): readonly Overrun[]
  /** Resolves when nothing runs, overruns included. */
  allEnded(): Promise<unknown>
}

/** A run that was told to stop and goes on. */
export interface Overrun {
  readonly queue: string
  readonly queueJobId: string
  readonly jobId: string | undefined
  readonly reason: StopReason
  readonly toldAt: Date
}

export function openRuns(slots: number, now: () => Date, onEnd: () => void): Runs {
  const running = new Map<string, Taken>()
  const overran = new Set<Taken>()

  function start(queued: QueuedJob, run: (abort: AbortController) => Promise<void>) {
    const abort = new AbortController()
    const taken: Taken = { queued, abort, toldAt: undefined, end: Promise.resolve() }
    running.set(queued.id, taken)
    taken.end = run(abort).finally(() => {
      if (running.get(queued.id) === taken) running.delete(queued.id)
      overran.delete(taken)
      onEnd()
    })
  }

  function stop(id: string, reason: StopReason) {
    const taken = running.get(id)
    if (!taken || taken.toldAt) return
    taken.toldAt = now()
    taken.abort.abort(reason)
  }

  function findOverruns() {
    const deadline = now().getTime() - OVERRUN_MS
    const found = [...running.values()].filter(
      ({ toldAt }) => toldAt && toldAt.getTime() <= deadline,
    )
    for (const taken of found) {
      running.delete(taken.queued.id)
      overran.add(taken)
    }
    return found.map(describe)
  }

  return {
    start,
    stop,
    stopAll: (reason) => [...running.keys()].forEach((id) => stop(id, reason)),
    free: () => (overran.size < slots ? slots - running.size : 0),
    running: () => [...running.values()].map(({ queued }) => queued),
    held() {
      const held = new Map<string, number>()
      for (const { queued } of running.values()) {
        if (queued.groupId) held.set(queued.groupId, (held.get(queued.groupId) ?? 0) + 1)
      }
      return held
    },
    findOverruns,
    overruns: () => [...overran].map(describe),
    allEnded: () => Promise.all([...running.values(), ...overran].map(({ end }) => end)),
  }
}

function describe({ queued, abort, toldAt }: Taken): Overrun {
  return {
    queue: queued.name,
    queueJobId: queued.id,
    jobId: queued.data.job_id,
    reason: abort.signal.reason as StopReason,
    toldAt: toldAt as Date,
  }
}

interface Taken {
  readonly queued: QueuedJob
  readonly abort: AbortController
  toldAt: Date | undefined
  /** Never rejects. */
  end: Promise<void>
}

/** How long a handler may take to reach a safe point once it was told to stop. */
const OVERRUN_MS = 10_000
