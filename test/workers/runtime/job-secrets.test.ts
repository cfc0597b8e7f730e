import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { findSecret, putSecret } from '../../../sql/jobs/job-secrets.ts'
import { cancelJob } from '../../../sql/transactions/cancel-job.ts'
import { settleOrphanedJobs } from '../../../workers/maintenance/settle-orphaned-jobs.ts'
import { GiveUp } from '../../../workers/runtime/give-up.ts'
import { continueAfter, handler } from '../../../workers/runtime/handler.ts'
import type { AnyHandler } from '../../../workers/runtime/handler.ts'
import { openQueues, untilAborted } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

const SEALED = Buffer.from('sealed')

t.test('the secret of a job', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org } = queues
  const read = (id: string) => findSecret(sql, org.orgId, id)
  const cancel = (id: string) =>
    service.context.queue.transaction(sql, (tx: Transaction) =>
      cancelJob(tx, service.context.queue, org.orgId, id),
    )
  async function submit(declared: NumberJob) {
    const id = await queues.submit(declared)
    await sql.begin(async (tx: Transaction) => putSecret(tx, org.orgId, id, SEALED))
    return id
  }
  /** Runs a job with a secret to its end, and tells how it ended and what is left of the secret. */
  async function endWith(work: (declared: NumberJob) => AnyHandler) {
    const declared = await queues.declare({ retryLimit: 1 })
    const id = await submit(declared)
    const { stop } = await queues.start(work(declared))
    const { state } = await queues.ended(id)
    await stop()
    return { state, sealed: await read(id) }
  }

  t.test('is there in every attempt and gone when the job succeeded', async (t) => {
    const seen: unknown[] = []
    const work = (declared: NumberJob) =>
      handler(declared, async (_, { jobId = '' }) => {
        seen.push(await read(jobId))
        if (seen.length === 1) return continueAfter(1)
        if (seen.length === 2) throw new Error('once')
        return {}
      })
    t.same(await endWith(work), { state: 'succeeded', sealed: null })
    t.same(seen, [SEALED, SEALED, SEALED])
  })

  t.test('is gone when the job failed, at once or at last', async (t) => {
    for (const error of [new GiveUp('no', 'No'), new Error('again and again')]) {
      const work = (declared: NumberJob) =>
        handler(declared, async () => {
          throw error
        })
      t.same(await endWith(work), { state: 'failed', sealed: null }, error.message)
    }
  })

  t.test('is gone when the job was canceled, before it began or while it ran', async (t) => {
    const declared = await queues.declare()
    const id = await submit(declared)
    t.same(await read(id), SEALED)
    await cancel(id)
    t.equal(await read(id), null)
    const running = await submit(declared)
    const { stop } = await queues.start(handler(declared, untilAborted))
    await until(async () => (await queues.find(running))?.state === 'running')
    await cancel(running)
    t.match(await queues.ended(running), { state: 'canceled' })
    t.equal(await read(running), null)
    await stop()
  })

  t.test('is gone when no worker settles the job', async (t) => {
    const { context, stop } = await service.startWorkers([])
    await stop()
    const settling = { ...context, sql, queue: service.context.queue }
    for (const end of ['failed', 'canceled'] as const) {
      const declared = await queues.declare({ retryLimit: 0 })
      const id = await submit(declared)
      const [queued] = await service.boss.fetch(declared.name)
      await sql`
        update jobs set state = ${end === 'failed' ? 'running' : 'cancelling'}, attempt = 1,
          started_at = now(), cancel_requested_at = ${end === 'failed' ? null : new Date()}
        where id = ${id}`
      await service.boss.fail(declared.name, queued?.id ?? '', {})
      await settleOrphanedJobs(settling, [declared], 'claimed')
      t.match(await queues.find(id), { state: end })
      t.equal(await read(id), null)
    }
  })

  t.test('is told from none', async (t) => {
    t.equal(await read(await queues.submit(await queues.declare())), undefined)
  })
})
