import t from 'tap'
import { WAKE_CHANNEL } from '../../../jobs/queue.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { listJobAttempts } from '../../../sql/jobs/job-attempts.ts'
import { requestCancel } from '../../../sql/jobs/jobs.ts'
import { cancelJob } from '../../../sql/transactions/cancel-job.ts'
import { CONTINUE, continueAfter, handler } from '../../../workers/runtime/handler.ts'
import type { Outcome, ResumableRun } from '../../../workers/runtime/handler.ts'
import { gate, openQueues } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('a job that waits', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org } = queues

  /** The row by which the job goes on, with the seconds until it may. */
  async function waitingRow({ name }: NumberJob) {
    const [row] = await sql<{ id: string; seconds: number; retry_count: number }[]>`
      select id, retry_count, extract(epoch from start_after - created_on)::float8 as seconds
      from pgboss.job where name = ${name} and state < 'active' and start_after > created_on`
    return row
  }
  /** Lets its time come. */
  async function makeDue({ name }: NumberJob) {
    await sql`
      update pgboss.job set start_after = now() where name = ${name} and state < 'active'`
    await sql`select pg_notify(${WAKE_CHANNEL}, ${name})`
  }
  const cancel = (id: string) =>
    service.context.queue.transaction(sql, (tx: Transaction) =>
      cancelJob(tx, service.context.queue, org.orgId, id),
    )
  const outcomes = async (id: string) =>
    (await listJobAttempts(sql, org.orgId, id, 20)).map(({ outcome }) => outcome)

  /** Counts in its checkpoint; the first run waits for an hour. */
  async function waitOnce(_: object, run: ResumableRun<{ at: number }>) {
    const at = (run.checkpointed?.at ?? 0) + 1
    await run.sql.begin((tx) => run.checkpoint(tx, { done: at }, { at }))
    return at === 1 ? continueAfter(3600) : { at }
  }

  t.test('goes on from its checkpoint when its time has come, at no cost', async (t) => {
    const declared = await queues.declare({ policy: 'exclusive', retryLimit: 0 })
    const { pools } = await queues.start(handler(declared, waitOnce))
    const id = await queues.submit(declared)
    const row = await until(() => waitingRow(declared))
    t.equal(row.seconds, 3600)
    t.match(await queues.find(id), { state: 'queued', queue_job_id: row.id, interruptions: 0 })
    await until(() => pools.running() === 0)
    await makeDue(declared)
    t.match(await queues.ended(id), { state: 'succeeded', result: { at: 2 }, interruptions: 0 })
    t.same(await outcomes(id), ['continued', 'succeeded'])
  })

  t.test('leaves its slot to others', async (t) => {
    const declared = await queues.declare()
    const work = async (payload: { n: number }, run: ResumableRun<{ at: number }>) =>
      payload.n === 0 ? waitOnce(payload, run) : { n: payload.n }
    await queues.start(handler(declared, work), 1)
    const waiting = await queues.submit(declared, 0)
    await until(() => waitingRow(declared))
    t.match(await queues.ended(await queues.submit(declared, 1)), { state: 'succeeded' })
    t.match(await queues.find(waiting), { state: 'queued' })
  })

  t.test('has all its attempts again afterwards', async (t) => {
    const declared = await queues.declare({ retryLimit: 1 })
    const failing = async (_: object, run: ResumableRun<{ at: number }>) => {
      const at = (run.checkpointed?.at ?? 0) + 1
      await run.sql.begin((tx) => run.checkpoint(tx, { done: at }, { at }))
      if (at % 2 === 1) throw new Error('every other time')
      return at === 4 ? { at } : continueAfter(1)
    }
    await queues.start(handler(declared, failing))
    const id = await queues.submit(declared)
    t.match(await queues.ended(id), { state: 'succeeded', result: { at: 4 } })
    t.same(await outcomes(id), ['failed', 'continued', 'failed', 'succeeded'])
  })

  t.test('is canceled at once', async (t) => {
    const declared = await queues.declare({ policy: 'exclusive' })
    await queues.start(handler(declared, waitOnce))
    const id = await queues.submit(declared)
    await until(() => waitingRow(declared))
    t.equal(await cancel(id), 'canceled')
    t.match(await queues.find(id), { state: 'canceled' })
    t.equal(await waitingRow(declared), undefined)
  })

  t.test('does not begin to wait, nor goes on, once it is to be canceled', async (t) => {
    const endings: Outcome[] = [continueAfter(3600), CONTINUE]
    for (const ending of endings) {
      const declared = await queues.declare({ policy: 'exclusive' })
      const canceled = gate()
      let runs = 0
      await queues.start(
        handler(declared, async () => {
          runs++
          await canceled.opened
          return ending
        }),
      )
      const id = await queues.submit(declared)
      await until(() => runs === 1)
      await requestCancel(sql, org.orgId, id)
      canceled.open()
      t.match(await queues.ended(id), { state: 'canceled', attempt: 1 })
      t.same(await outcomes(id), ['canceled'])
      t.equal(await waitingRow(declared), undefined)
    }
  })

  t.test('waits on while workers stop and start', async (t) => {
    const declared = await queues.declare({ policy: 'exclusive', retryLimit: 0 })
    const begun = gate()
    const released = gate()
    const { stop } = await queues.start(
      handler(declared, async (payload, run) => {
        begun.open()
        await released.opened
        return waitOnce(payload, run)
      }),
    )
    const id = await queues.submit(declared)
    await begun.opened
    const stopped = stop()
    released.open()
    await stopped
    const row = await waitingRow(declared)
    t.match(
      row,
      { seconds: 3600, retry_count: 0 },
      'the run that a stop interrupts may still end so',
    )
    t.match(await queues.find(id), { state: 'queued', interruptions: 0 })

    const { stop: stopAgain } = await queues.start(handler(declared, waitOnce))
    await stopAgain()
    t.same(await waitingRow(declared), row)
    await queues.start(handler(declared, waitOnce))
    await makeDue(declared)
    t.match(await queues.ended(id), { state: 'succeeded', interruptions: 0 })
  })

  t.test('may be an internal one', async (t) => {
    const declared = await queues.declare({ retryLimit: 0 })
    let runs = 0
    await queues.start(
      handler(declared, async () => {
        if (++runs === 1) return continueAfter(60)
        return {}
      }),
    )
    await queues.enqueue(declared, [7])
    t.match(await until(() => waitingRow(declared)), { seconds: 60 })
    t.equal(runs, 1)
    await makeDue(declared)
    await until(() => runs === 2)
  })

  t.test('waits for a second at least and for an hour at most', async (t) => {
    for (const seconds of [0, 0.9, -1, 3601, Infinity, NaN]) {
      t.throws(() => continueAfter(seconds), RangeError, `${seconds}`)
    }
  })
})
