import t from 'tap'
import { reconcileJobs } from '../../../jobs/reconcile-jobs.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { reconcileJobsHandler } from '../../../workers/maintenance/reconcile-jobs.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('a trace that an older process indexed', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const text = 'Two refunds for people who waited'
  const trace = { id: 'old', agent_name: 'a', status: 'running', user_input_preview: text }
  await client.post('/traces', trace)
  // As the release before the stems wrote it.
  await sql`
    insert into trace_search (org_id, project_id, period, trace_id, document)
    select ${org.orgId}, ${org.projectId}, storing_period(), id, to_tsvector('simple', ${text})
    from unnest('{old,deleted}'::text[]) as id`
  const find = async (q: string) =>
    (await client.get(`/traces?q=${encodeURIComponent(q)}`)).body.total as number

  t.test('is found by its words and the beginning of the last', async (t) => {
    for (const q of [
      'refunds',
      'refu',
      'refunds wait',
      'refunds w',
      '"two refunds"',
      'two -refund',
    ]) {
      t.equal(await find(q), 1, q)
    }
    for (const q of ['refunded', 'two -refunds', 'waiting people', 'two x'])
      t.equal(await find(q), 0, q)
  })

  t.test('is found by its stems once maintenance has come by', async (t) => {
    await service.startWorkers([reconcileJobsHandler])
    const { queue } = service.context
    await queue.transaction(sql, (tx: Transaction) =>
      queue.enqueue(tx, reconcileJobs, {}, { orgId: null }),
    )
    await until(async () => (await find('refunded')) === 1)
    for (const q of ['refunds', 'refu', 'waiting people', 'people w', '"two refund"']) {
      t.equal(await find(q), 1, q)
    }
    for (const q of ['two -refund', 'two -refunds']) t.equal(await find(q), 0, q)
    t.same(await sql`select trace_id from trace_search`, [{ trace_id: 'old' }])
  })
})
