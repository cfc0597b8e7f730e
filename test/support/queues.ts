import type { Test } from 'tap'
import { job } from '../../jobs/job.ts'
import type { Job, JobQueueOptions } from '../../jobs/job.ts'
import type { Queue } from '../../jobs/queue.ts'
import { int, shape } from '../../jobs/shape.ts'
import { reconcileQueues } from '../../ops/boss.ts'
import type { Sql, Transaction } from '../../sql/core/db.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import { submitJob } from '../../sql/transactions/submit-job.ts'
import type { AnyHandler, Run } from '../../workers/runtime/handler.ts'
import { openService } from './service.ts'
import { until } from './until.ts'

export type NumberJob = Job<{ n: number }, { at: number }>

/** A job whose payload is a number, as its checkpoint is; quick to retry. */
export function numberJob(name: string, options: Partial<JobQueueOptions> = {}): NumberJob {
  return job(
    name,
    { payload: shape({ n: int(0, 1e9) }), checkpoint: shape({ at: int(0, 1e9) }) },
    {
      retryLimit: 2,
      retryDelaySeconds: 1,
      retryDelayMaxSeconds: 1,
      expireInSeconds: 60,
      heartbeatSeconds: 10,
      ...options,
    },
  )
}

/** A service with queues of the test's own. */
export async function openQueues(t: Test) {
  const service = await openService(t)
  const { sql, context } = service
  const org = await service.makeOrganization()
  let serial = 0

  return {
    service,
    sql,
    org,
    async declare(options: Partial<JobQueueOptions> = {}) {
      const declared = numberJob(`test.run-${++serial}`, options)
      await reconcileQueues(service.boss, [declared])
      return declared
    },
    start: (handler: AnyHandler, slots = 4) => service.startWorkers([handler], slots),
    submit: (declared: NumberJob, n = 0, owner: Owner = org) =>
      submitNumber(sql, context.queue, declared, n, owner),
    /** Internal jobs, which have no row in `jobs`. */
    async enqueue(declared: NumberJob, numbers: readonly number[], owner: Owner = org) {
      await context.queue.transaction(sql, async (tx: Transaction) => {
        for (const n of numbers) {
          await context.queue.enqueue(tx, declared, { n }, { orgId: owner.orgId })
        }
      })
    },
    find: async (id: string) => findJob(sql, org.orgId, id),
    ended: (id: string) =>
      until(async () => {
        const found = await findJob(sql, org.orgId, id)
        return found?.finished_at ? found : undefined
      }),
  }
}

/** Puts a job with a row in `jobs` into its queue, as the API does. */
export async function submitNumber(
  sql: Sql,
  queue: Queue,
  declared: NumberJob,
  n: number,
  { orgId, projectId }: Owner,
) {
  return queue.transaction(sql, (tx: Transaction) =>
    submitJob(tx, queue, declared, { n }, { orgId, projectId, createdBy: null }),
  )
}

/** A handler's work that does nothing until it is told to stop. */
export async function untilAborted(_: object, run: Run) {
  await new Promise((_resolve, reject) => {
    run.signal.addEventListener('abort', () => reject(new Error('aborted')))
  })
}

/** A promise and what resolves it. */
export function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

interface Owner {
  readonly orgId: string
  readonly projectId: string
}
