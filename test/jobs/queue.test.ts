import { randomUUID } from 'node:crypto'
import t from 'tap'
import { WAKE_CHANNEL } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { submitJob } from '../../sql/transactions/submit-job.ts'
import { handler } from '../../workers/runtime/handler.ts'
import { openQueues } from '../support/queues.ts'
import { until } from '../support/until.ts'

t.test('a queue', async (t) => {
  const { service, sql, org, declare, enqueue, start } = await openQueues(t)
  const { boss } = service
  const { queue } = service.context

  t.test('holds no job of a transaction that was rolled back', async (t) => {
    const declared = await declare()
    await t.rejects(
      queue.transaction(sql, async (tx: Transaction) => {
        await queue.enqueue(tx, declared, { n: 1 }, { orgId: org.orgId })
        throw new Error('no')
      }),
      { message: 'no' },
    )
    t.equal((await boss.findJobs(declared.name)).length, 0)
  })

  t.test('given the pool, has the job at once and wakes the workers', async (t) => {
    const declared = await declare()
    let done = 0
    await start(handler(declared, async () => void done++))
    const wakes: string[] = []
    const { unlisten } = await sql.listen(WAKE_CHANNEL, (names) => void wakes.push(names))
    await queue.enqueue(sql, declared, { n: 1 }, { orgId: org.orgId })
    await until(() => done === 1 && wakes.length > 0)
    t.match(wakes.join(), declared.name)
    await unlisten()
  })

  t.test('has neither row nor job of a submission that is refused', async (t) => {
    const declared = await declare({ policy: 'exclusive' })
    const nobody = { orgId: randomUUID(), projectId: null, createdBy: null }
    await t.rejects(submitJob(sql, queue, declared, { n: 1 }, nobody), { code: '23503' })
    t.equal((await boss.findJobs(declared.name)).length, 0)
  })

  t.test('refuses a payload that does not fit when it is sent', async (t) => {
    const declared = await declare()
    await t.rejects(
      queue.enqueue(sql as never, declared, { n: -1 }, { orgId: org.orgId }),
      /Payload of test/,
    )
  })

  t.test('with a backlog is worked off after one wake-up', async (t) => {
    const declared = await declare()
    let done = 0
    await start(
      handler(declared, async () => void done++),
      3,
    )
    await enqueue(
      declared,
      Array.from({ length: 60 }, (_, n) => n),
    )
    await until(() => done === 60)
    t.equal(done, 60)
  })
})
