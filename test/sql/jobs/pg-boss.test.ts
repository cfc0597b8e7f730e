import t from 'tap'
import type { JobQueueOptions } from '../../../jobs/job.ts'
import { bossDatabase } from '../../../jobs/pg-boss.ts'
import type { EnqueueOptions } from '../../../jobs/queue.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { numberJob, openQueues } from '../../support/queues.ts'

t.test('a row of a queue', async (t) => {
  const { service, sql, org, declare } = await openQueues(t)
  const { boss } = service
  const { queue } = service.context
  const { orgId } = org
  const policies = ['standard', 'short', 'exclusive'] as const satisfies JobQueueOptions['policy'][]
  const data = { org_id: orgId, payload: { n: 1 } }

  for (const policy of policies) {
    t.test(`of policy ${policy} is as the library makes it, column by column`, async (t) => {
      const declared = await declare({
        policy,
        retryLimit: 7,
        retryDelaySeconds: 3,
        retryDelayMaxSeconds: 11,
        expireInSeconds: 77,
        heartbeatSeconds: 17,
      })
      const { name } = declared
      const variants: [EnqueueOptions, object][] = [
        [{ orgId, priority: -3 }, { priority: -3 }],
        [
          { orgId, priority: 100, key: 'k' },
          { priority: 100, singletonKey: 'k' },
        ],
        [
          { orgId, priority: 0, key: 'k', startAfterSeconds: 90, retryLimit: 0 },
          { priority: 0, singletonKey: 'k', startAfter: 90, retryLimit: 0 },
        ],
      ]
      for (const [ours, theirs] of variants) {
        // In one transaction all that is told from the time is equal.
        const [added, sent] = await sql.begin(async (tx: Transaction) => {
          const db = bossDatabase(tx)
          const take = async (id: string | null) => {
            const [row] = await tx<{ columns: object }[]>`
              select to_jsonb(j) - 'id' as columns from pgboss.job j where name = ${name} and id = ${id}`
            await boss.deleteJob(name, id ?? '', { db })
            return row?.columns
          }
          const options = { db, group: { id: orgId }, ...theirs }
          return [
            await take(await queue.enqueue(tx, declared, { n: 1 }, ours)),
            await take(await boss.send(name, data, options)),
          ]
        })
        t.ok(added)
        t.same(added, sent)
      }
    })

    t.test(`of policy ${policy} is refused where the library refuses it`, async (t) => {
      const declared = await declare({ policy })
      const { name } = declared
      const isRefused = async (options: object, sent: object) => {
        const added = await queue.enqueue(sql, declared, { n: 1 }, { orgId, ...options })
        const theirs = await boss.send(name, data, { group: { id: orgId }, ...sent })
        return [added === null, theirs === null]
      }
      const isKeyed = policy !== 'standard'
      await queue.enqueue(sql, declared, { n: 1 }, { orgId, key: 'a' })
      t.same(await isRefused({ key: 'a' }, { singletonKey: 'a' }), [isKeyed, isKeyed])
      await boss.fetch(name, { batchSize: 10 })
      const isExclusive = policy === 'exclusive'
      t.equal(
        (await queue.enqueue(sql, declared, { n: 1 }, { orgId, key: 'a' })) === null,
        isExclusive,
        'while one runs',
      )
      t.ok(await queue.enqueue(sql, declared, { n: 1 }, { orgId, key: 'b' }), 'another key')
    })
  }

  t.test('has the options that its queue has by now', async (t) => {
    const declared = await declare()
    const { name } = declared
    await queue.enqueue(sql, declared, { n: 1 }, { orgId })
    await boss.updateQueue(name, { retryLimit: 9, retentionSeconds: 60 })
    const id = await queue.enqueue(sql, declared, { n: 2 }, { orgId })
    const [row] = await sql`
      select retry_limit, extract(epoch from keep_until - start_after)::int as kept
      from pgboss.job where name = ${name} and id = ${id}`
    t.same(row, { retry_limit: 9, kept: 60 })
  })

  t.test('is refused without its queue', async (t) => {
    const nowhere = numberJob('test.nowhere')
    await t.rejects(queue.enqueue(sql, nowhere, { n: 1 }, { orgId }), { code: '23502' })
  })
})
