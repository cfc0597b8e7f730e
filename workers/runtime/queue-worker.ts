import { SpanKind } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { PgBoss } from 'pg-boss'
import { batchCalls } from '../../jobs/batch-calls.ts'
import { workOn } from '../../jobs/current-work.ts'
import type { Work } from '../../jobs/current-work.ts'
import { affectedIds, bossDatabase } from '../../jobs/pg-boss.ts'
import { contextOf, inSpan } from '../../jobs/spans.ts'
import type { QueuedJob } from './attempt.ts'
import type { OrgLimit } from '../../sql/jobs/queue-control.ts'
import type { WorkerContext } from './context.ts'
import type { AnyHandler } from './handler.ts'
import { openPolling } from './polling.ts'
import { runAttempt } from './run-attempt.ts'
import { openSlots } from './slots.ts'
import type { Overrun, Slots } from './slots.ts'
import type { Solitude } from './solitude.ts'
import { takeJobs } from './take.ts'

export interface QueueWorker {
  readonly queue: string
  /** Looks for work now instead of at the next poll. */
  wake(): void
  /** Takes jobs only as the operators allow from now on; those that run go on. */
  control(control: QueueControl): void
  /** Aborts the job when it runs here. */
  cancel(jobId: string): void
  /** The job resources that run here. */
  jobIds(): string[]
  /** Keeps the claims of running jobs alive, aborts runs that lost theirs, and finds overruns. */
  heartbeat(): Promise<void>
  status(): QueueStatus
  /**
   * Takes no more jobs and aborts the running ones, whose handlers stop at their next safe points.
   * Resolves when nothing runs. The caller decides how long to wait.
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

/** What operators allow in one queue. */
export interface QueueControl {
  /** Nobody's jobs are taken. */
  readonly paused: boolean
  readonly limits: readonly OrgLimit[]
}

export interface QueueWorkerOptions {
  /** Jobs that run at once. */
  readonly slots: number
  readonly control: QueueControl
  /** Of the process. */
  readonly solitude: Solitude
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
  { slots: total, worker, solitude, ...options }: QueueWorkerOptions,
): QueueWorker {
  const queue = handler.job.name
  let { control } = options
  /** Whether the last fetch left jobs in the queue that may run when another one has ended. */
  let backlog = false
  let fetchedAt: Date | undefined
  let looked: Promise<unknown> = Promise.resolve()
  let missing: ReadonlySet<QueuedJob> = new Set()
  const slots = openSlots(total, context.now, () => {
    if (backlog) polling.wake()
  })
  const run = openRunner(context, boss, handler, worker)

  /** Returns whether to look again at once. */
  async function take() {
    if (control.paused || slots.free() === 0 || solitude.isTaken()) return false
    const taking = takeJobs(boss, context.sql, queue, slots, control.limits)
    looked = taking.catch(() => undefined)
    const taken = await taking
    fetchedAt = context.now()
    backlog = taken.more || taken.withheld
    for (const queued of taken.jobs) slots.start(queued, (abort) => begin(queued, abort))
    return taken.more && slots.free() > 0
  }

  /** One job runs alone, and what was taken beside it goes back to the queue. */
  async function begin(queued: QueuedJob, abort: AbortController) {
    const { alone } = queued.data
    if (!alone && !solitude.isTaken()) return run(queued, abort)
    const leave = alone && (await solitude.enter(queued.id))
    if (!leave) abort.abort('draining')
    await run(queued, abort)
    if (leave) leave()
  }
  const polling = openPolling(context, queue, take)
  solitude.join({ slots, wake: polling.wake, looked: () => looked })

  return {
    queue,
    wake: polling.wake,
    control(value) {
      if (isDeepStrictEqual(value, control)) return
      control = value
      polling.wake()
    },
    cancel: (jobId) => stopJob(slots, jobId),
    jobIds: () => slots.running().flatMap(({ data }) => data.job_id ?? []),
    async heartbeat() {
      if (logOverruns(context, slots)) polling.wake()
      missing = await keepClaims(context, boss, { queue, slots }, missing)
    },
    status: () => ({
      queue,
      slots: total,
      running: slots.running().length,
      paused: control.paused,
      fetchedAt,
      overruns: slots.overruns(),
    }),
    async drain() {
      const ended = polling.end()
      // A fetch under way would take the jobs again that stopped runs put back.
      await Promise.race([ended, pause(FETCH_GRACE_MS, undefined, { ref: false })])
      slots.stopAll('draining')
      await ended
      // Jobs of a later fetch: an aborted run releases its job before the handler begins.
      slots.stopAll('draining')
      await slots.allEnded()
    },
  }
}

/** Runs jobs and meters them; logs what could not be settled. */
function openRunner(context: WorkerContext, boss: PgBoss, handler: AnyHandler, worker: string) {
  const queue = handler.job.name
  const completeTogether = batchCalls(async (of: PgBoss, jobs: QueuedJob[]) => {
    await of.complete(queue, jobs, null, { db: bossDatabase(context.sql) })
    return jobs
  }, COMPLETE_BATCH)
  const complete = async (queued: QueuedJob) => void (await completeTogether(boss, queued))

  async function run(queued: QueuedJob, abort: AbortController, span: Span) {
    const started = context.now().getTime()
    const due = Math.max(queued.createdOn.getTime(), queued.startAfter.getTime())
    try {
      const outcome = await runAttempt({ context, boss, handler, queued, worker, abort, complete })
      span.setAttribute('adl.outcome', outcome)
      const ended = context.now().getTime()
      const waited = Math.max(0, started - due) / 1000
      context.meter.jobRan(queue, outcome, waited, (ended - started) / 1000)
    } catch (err) {
      context.log.error({ err }, 'job could not be settled')
    }
  }
  return (queued: QueuedJob, abort: AbortController) => {
    const { name, id, data } = queued
    const work = workOf(queued)
    const attributes = {
      'messaging.system': 'pg-boss',
      'messaging.message.id': id,
      'adl.request_id': work.request_id,
      'adl.org_id': work.org_id,
      'adl.job_id': work.job_id,
    }
    const options = { kind: SpanKind.CONSUMER, attributes, parent: contextOf(data) }
    return workOn(work, () =>
      inSpan(`process ${name}`, options, (span) => run(queued, abort, span)),
    )
  }
}

function workOf({ name, data }: QueuedJob): Work {
  const { request_id, org_id, job_id } = data
  return { request_id, org_id: org_id ?? undefined, queue: name, job_id }
}

function stopJob(slots: Slots, jobId: string) {
  const runs = slots.running().filter(({ data }) => data.job_id === jobId)
  for (const { id } of runs) slots.stop(id, 'canceled')
}

/** Whether there were new overruns, whose slots are free now. */
function logOverruns({ log }: WorkerContext, slots: Slots) {
  const overruns = slots.findOverruns()
  for (const overrun of overruns) log.error(overrun, 'a handler ignores that it was told to stop')
  return overruns.length > 0
}

/**
 * Keeps the claims of running jobs alive and stops the runs whose claims are lost: those that two calls miss,
 * because a run that is being settled leaves the queue shortly before it has ended.
 * @param missing those that the call before missed
 * @returns those that this one does
 */
async function keepClaims(
  context: WorkerContext,
  boss: PgBoss,
  { queue, slots }: { queue: string; slots: Slots },
  missing: ReadonlySet<QueuedJob>,
): Promise<ReadonlySet<QueuedJob>> {
  const jobs = slots.running()
  if (jobs.length === 0) return new Set()
  const response = await boss.touch(queue, jobs, { db: bossDatabase(context.sql) })
  const alive = new Set(affectedIds(response))
  const running = new Set(slots.running())
  const gone = jobs.filter((job) => !alive.has(job.id) && running.has(job))
  for (const job of gone.filter((each) => missing.has(each))) {
    context.meter.claimLost(queue)
    slots.stop(job.id, 'claim_lost')
  }
  return new Set(gone)
}

const COMPLETE_BATCH = 500
/** How long a drain waits for a fetch, which takes longer only when the database does not answer. */
const FETCH_GRACE_MS = 500
