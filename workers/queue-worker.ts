import type { PgBoss } from 'pg-boss'
import { gather } from '../jobs/gather.ts'
import { bossDatabase } from '../jobs/queue.ts'
import { runAttempt } from './attempt.ts'
import type { QueuedJob } from './queued-job.ts'
import type { AnyHandler, WorkerContext } from './handler.ts'
import { openRuns } from './runs.ts'
import type { Overrun } from './runs.ts'
import { takeJobs } from './take.ts'

export interface QueueWorker {
  readonly queue: string
  /** Looks for work now instead of at the next poll. */
  wake(): void
  /** Takes no more jobs until it is resumed; those that run go on. */
  setPaused(paused: boolean): void
  /** Aborts the job when it runs here. */
  cancel(jobId: string): void
  /** The job resources that run here. */
  jobIds(): string[]
  /** Keeps the claims of running jobs alive; finds those that were lost and runs that overstay. */
  heartbeat(): Promise<void>
  status(): QueueStatus
  /**
   * Takes no more work and asks what runs to stop at its next safe point. Resolves when nothing runs
   * any more; the caller decides how long to wait.
   */
  drain(): Promise<void>
}

/** One queue in one process. */
export interface QueueStatus {
  readonly queue: string
  readonly slots: number
  readonly running: number
  readonly paused: boolean
  /** When a fetch last succeeded; undefined before the first. */
  readonly fetchedAt: Date | undefined
  readonly overruns: readonly Overrun[]
}

export interface QueueWorkerOptions {
  /** Jobs that run at once. */
  readonly slots: number
  readonly paused: boolean
  /** Host and process, for the history of a job. */
  readonly worker: string
}

/**
 * Takes jobs of one queue, as many at once as there are free slots, and runs them in this process.
 */
export function startQueueWorker(
  context: WorkerContext,
  boss: PgBoss,
  handler: AnyHandler,
  { slots, worker, ...options }: QueueWorkerOptions,
): QueueWorker {
  const queue = handler.job.name
  let paused = options.paused
  let draining = false
  /** Whether the last fetch left something for slots that were not free. */
  let backlog = false
  let fetchedAt: Date | undefined
  const waiting = openWait()
  const runs = openRuns(slots, context.now, () => {
    if (backlog) waiting.end()
  })
  const completeTogether = gather(async (of: PgBoss, jobs: QueuedJob[]) => {
    await of.complete(queue, jobs, null, { db: bossDatabase(context.sql) })
    return jobs
  }, COMPLETE_BATCH)
  const complete = async (queued: QueuedJob) => void (await completeTogether(boss, queued))

  async function run(queued: QueuedJob, abort: AbortController) {
    const started = context.now().getTime()
    const due = Math.max(queued.createdOn.getTime(), queued.startAfter.getTime())
    try {
      const outcome = await runAttempt({ context, boss, handler, queued, worker, abort, complete })
      const ended = context.now().getTime()
      const waited = Math.max(0, started - due) / 1000
      context.meter.jobRan(queue, outcome, waited, (ended - started) / 1000)
    } catch (err) {
      context.log.error({ queue, job_id: queued.data.job_id, err }, 'job could not be settled')
    }
  }

  /** Returns whether to look again at once. */
  async function take() {
    const free = paused ? 0 : runs.free()
    if (free === 0) return false
    const taken = await takeJobs(boss, context.sql, queue, {
      total: slots,
      free,
      held: runs.held(),
    })
    fetchedAt = context.now()
    backlog = taken.more
    for (const queued of taken.jobs) runs.start(queued, (abort) => run(queued, abort))
    // What came while the worker was told to stop is put back by its run before the handler begins.
    if (draining) runs.stopAll('draining')
    return backlog && runs.free() > 0
  }

  async function loop() {
    while (!draining) {
      waiting.begin()
      try {
        if (await take()) continue
        const notified = await waiting.until(POLL_INTERVAL_MS)
        context.meter.lookedForJobs(queue, notified ? 'notified' : 'polled')
      } catch (err) {
        context.log.warn({ queue, err }, 'could not fetch jobs')
        await waiting.until(RETRY_MS)
      }
    }
  }
  const looping = loop()

  return {
    queue,
    wake: waiting.end,
    setPaused(value) {
      if (paused && !value) waiting.end()
      paused = value
    },
    cancel(jobId) {
      for (const { id, data } of runs.running())
        if (data.job_id === jobId) runs.stop(id, 'cancelled')
    },
    jobIds: () => runs.running().flatMap(({ data }) => data.job_id ?? []),
    async heartbeat() {
      for (const overrun of runs.findOverruns()) {
        context.log.error(overrun, 'a handler ignores that it was told to stop')
        waiting.end()
      }
      const jobs = runs.running()
      if (jobs.length === 0) return
      const response = await boss.touch(queue, jobs, { db: bossDatabase(context.sql) })
      // pg-boss leaves the members of its responses out of its types.
      const alive = new Set((response as { settled: string[] | null }).settled)
      for (const { id } of jobs.filter((job) => !alive.has(job.id))) {
        context.meter.claimLost(queue)
        runs.stop(id, 'claim_lost')
      }
    },
    status: () => ({
      queue,
      slots,
      running: runs.running().length,
      paused,
      fetchedAt,
      overruns: runs.overruns(),
    }),
    async drain() {
      draining = true
      waiting.end()
      runs.stopAll('draining')
      await looping
      await runs.allEnded()
    },
  }
}

/** A wait that can be ended early, also by what happens between its beginning and its waiting. */
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
    /** True when it was ended before the time was over. */
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

/** The floor under NOTIFY: how late a job is seen when every wake-up is lost. */
const POLL_INTERVAL_MS = 2000
const RETRY_MS = 500
const COMPLETE_BATCH = 500
