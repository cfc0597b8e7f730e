import t from 'tap'
import { pauseQueue } from '../../../sql/jobs/queue-control.ts'
import { lockOrphanedJobs } from '../../../sql/jobs/orphaned-jobs.ts'
import { listJobAttempts } from '../../../sql/jobs/job-attempts.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { settleOrphanedJobs } from '../../../workers/maintenance/settle-orphaned-jobs.ts'
import { openQueues, untilAborted } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('a job that no worker will settle', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org, find } = queues
  const { boss } = service
  // Supervision of its own would be faster than the test.
  const { context, stop } = await service.startWorkers([])
  await stop()
  const reconciling = { ...context, sql, queue: service.context.queue }
  const settle = (declared: NumberJob, which: 'claimed' | 'all' = 'all') =>
    settleOrphanedJobs(reconciling, [declared], which)

  /** A job that a worker runs, which is then lost to sight. */
  async function loseWorker(declared: NumberJob) {
    const id = await queues.submit(declared)
    const [job] = await boss.fetch(declared.name)
    await sql`
      update jobs set state = 'running', attempt = 1, started_at = now() where id = ${id}`
    await sql`
      insert into job_attempts (org_id, job_id, attempt, worker) values (${org.orgId}, ${id}, 1, 'w')`
    return { id, queued: job as NonNullable<typeof job> }
  }

  t.test('waits for its next attempt after its worker was lost', async (t) => {
    const declared = await queues.declare()
    const { id, queued } = await loseWorker(declared)
    t.equal(await settle(declared), 0, 'while the claim is alive')
    await boss.fail(declared.name, queued.id, { value: { message: 'job heartbeat timeout' } })
    t.equal(await settle(declared, 'claimed'), 1)
    t.match(await find(id), { state: 'queued', error: { code: 'worker_lost' }, finished_at: null })
    t.match(await listJobAttempts(sql, org.orgId, id, 9), [{ attempt: 1, outcome: 'lost' }])
    t.equal(await settle(declared), 0)
  })

  t.test('has failed when its queue gave it up', async (t) => {
    const declared = await queues.declare({ retryLimit: 0 })
    const { id, queued } = await loseWorker(declared)
    await boss.fail(declared.name, queued.id, { value: { message: 'job timed out' } })
    await settle(declared, 'claimed')
    t.match(await find(id), { state: 'failed', error: { code: 'timed_out', retryable: true } })
  })

  t.test('is canceled when that was asked for', async (t) => {
    const declared = await queues.declare()
    const { id, queued } = await loseWorker(declared)
    await sql`update jobs set state = 'cancelling', cancel_requested_at = now() where id = ${id}`
    await boss.fail(declared.name, queued.id, {})
    await settle(declared, 'claimed')
    t.match(await find(id), { state: 'canceled', error: null })
  })

  t.test('is put into its queue once more when its row has vanished, and then fails', async (t) => {
    const declared = await queues.declare()
    const id = await queues.submit(declared)
    const vanish = () => sql`delete from pgboss.job where name = ${declared.name}`
    await vanish()
    t.equal(await settle(declared, 'claimed'), 0, 'what waits is not looked at every time')
    t.equal(await settle(declared), 1)
    t.match(await find(id), { state: 'queued', error: null })
    const { stop } = await queues.start(handler(declared, untilAborted))
    await until(async () => (await find(id))?.state === 'running')
    await pauseQueue(sql, declared.name, null)
    await stop()
    await vanish()
    t.equal(await settle(declared), 1)
    t.match(await find(id), { state: 'failed', error: { code: 'queue_row_lost' } })
  })

  t.test('is known by what has become of its queue row', async (t) => {
    const declared = await queues.declare()
    for (const [state, found] of [
      ['created', 'waiting'],
      ['retry', 'waiting'],
      ['active', undefined],
      ['completed', 'ended'],
      ['cancelled', 'ended'],
      ['failed', 'failed'],
    ] as const) {
      const { id, queued } = await loseWorker(declared)
      await sql`update pgboss.job set state = ${state} where id = ${queued.id}`
      await sql.begin(async (tx) => {
        const rows = await lockOrphanedJobs(tx, 'claimed', 10)
        t.equal(rows.find((row) => row.id === id)?.queue_row, found, state)
      })
      await sql`update pgboss.job set state = 'completed' where id = ${queued.id}`
      await sql`update jobs set state = 'succeeded', finished_at = now() where id = ${id}`
    }
  })

  t.test('is settled once by several at the same time', async (t) => {
    const declared = await queues.declare()
    await Promise.all(Array.from({ length: 30 }, () => queues.submit(declared)))
    await sql`delete from pgboss.job where name = ${declared.name}`
    const settled = await Promise.all([1, 2, 3].map(() => settle(declared)))
    t.equal(
      settled.reduce((sum, n) => sum + n),
      30,
    )
    const rows = await sql`select from pgboss.job where name = ${declared.name}`
    t.equal(rows.length, 30)
  })

  t.test('of a queue that is no more fails', async (t) => {
    const declared = await queues.declare()
    const id = await queues.submit(declared)
    await sql`delete from pgboss.job where name = ${declared.name}`
    await settleOrphanedJobs(reconciling, [], 'all')
    t.match(await find(id), {
      state: 'failed',
      error: { code: 'queue_row_lost', retryable: true },
    })
  })
})
