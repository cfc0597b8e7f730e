import t from 'tap'
import { deleteExpired } from '../../../jobs/delete-expired.ts'
import { reconcileJobs } from '../../../jobs/reconcile-jobs.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { listPeriods } from '../../../sql/traces/periods.ts'
import { dropPeriod } from '../../../sql/transactions/drop-period.ts'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { deleteExpiredHandler } from '../../../workers/maintenance/delete-expired.ts'
import { reconcileJobsHandler } from '../../../workers/maintenance/reconcile-jobs.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the traces of a month that came longer ago than they are kept', async (t) => {
  const service = await openService(t, { env: { TRACES_KEPT_DAYS: '31' } })
  const { sql, context } = service
  const [old] = (await makePeriodsAt(sql, '2025-03-15')) as [string]
  const org = await service.makeOrganization()
  const other = await service.makeOrganization()
  const client = service.client(org.key)
  await service.startWorkers([
    judgeTracesHandler,
    aggregateScoresHandler,
    deleteExpiredHandler,
    reconcileJobsHandler,
  ])
  const trace = (id: string) => ({
    id,
    agent_name: 'agent',
    started_at: '2025-03-03T10:00:00Z',
    messages: [
      { role: 'user', content: `where is ${id}?` },
      { role: 'assistant', content: 'here' },
    ],
    scores: { reward: 0.5 },
  })

  async function store(key: string, ids: readonly string[]) {
    const api = service.client(key)
    for (const id of ids) t.equal((await api.post('/traces', trace(id))).status, 201)
    await until(async () => {
      const states = await Promise.all(ids.map((id) => api.get(`/traces/${id}/decision`)))
      return states.every(({ status }) => status === 200)
    })
  }

  async function run(job: typeof deleteExpired) {
    await context.queue.transaction(sql, (tx: Transaction) =>
      context.queue.enqueue(tx, job, {}, { orgId: null }),
    )
    await until(async () => {
      const left = await sql`
        select from pgboss.job where name = ${job.name} and state < 'completed'`
      return left.length === 0
    })
  }

  const countScores = async () => {
    const { body } = await client.get('/eval-scores/aggregate?name=reward')
    return body.groups.map(({ count }: { count: number }) => count)
  }

  await storingIn(sql, old, async () => {
    await store(org.key, ['old', 'both'])
    await store(other.key, ['others'])
    const annotated = await client.post('/traces/old/annotations', { notes: 'forgotten' })
    t.equal(annotated.status, 201)
  })
  await store(org.key, ['new'])
  await until(async () => (await countScores())[0] === 3)

  await run(deleteExpired)

  t.test('are gone with all that belongs to them', async (t) => {
    for (const path of ['', '/decision', '/eval-scores', '/spans']) {
      t.equal((await client.get(`/traces/old${path}`)).status, 404, path)
      t.not((await client.get(`/traces/new${path}`)).status, 404, path)
    }
    const { body } = await client.get('/traces')
    t.match(body, { total: 1, traces: [{ trace_id: 'new' }] })
    t.same((await listPeriods(sql)).length, 3, 'April and two of today')
    const kept = await sql`select trace_id from trace_ids order by 1`
    t.same(kept, [{ trace_id: 'new' }])
    for (const table of ['annotations', 'agent_edges', 'trace_examinations'] as const) {
      t.same(await sql`select from ${sql(table)} where trace_id <> 'new'`, [], table)
    }
    t.equal((await client.post('/traces/old/annotations', { notes: 'late' })).status, 404)
    const late = { scores: [{ name: 'late', score: 1 }] }
    t.equal((await client.post('/traces/old/eval-scores', late)).status, 404)
    t.equal((await client.delete('/traces/old')).status, 404)
  })

  t.test('are in no count and no sum any more', async (t) => {
    const [counted] = await sql`
      select (select sum(n) from (select n from trace_counts union all
        select n from trace_count_changes) as c)::int as traces,
        (select sum(n) from (select n from verdict_counts union all
        select n from verdict_count_changes) as c)::int as verdicts`
    t.same(counted, { traces: 1, verdicts: 1 })
    await run(reconcileJobs)
    await until(async () => (await countScores())[0] === 1)
    const { body } = await client.get('/usage')
    t.match(body.metrics, [{ metric: 'traces_ingested', current: 3 }], 'they were stored once')
  })

  t.test('are told to their organizations, and to operators', async (t) => {
    const { body } = await client.get('/changelog?types=audit')
    t.match(body.events, [
      {
        event_type: 'trace_period.dropped',
        title: "Month of traces '2025-03' dropped",
        data: { name: '2025-03', traces: 2 },
      },
    ])
    const lines = service.logged.map(String).join('\n')
    t.match(lines, /traces dropped/)
  })

  t.test('leave their ids to others, before those are deleted too', async (t) => {
    const [early] = (await makePeriodsAt(sql, '2025-01-15')) as [string]
    await storingIn(sql, early, () => store(org.key, ['again', 'never']))
    await client.post('/traces/again/annotations', { notes: 'of the one before' })
    // As it is when maintenance has just dropped the partitions.
    const reader = await sql.reserve()
    await reader`begin`
    await reader`lock table projects, trace_ids in row share mode`
    await sql.begin(async (tx: Transaction) => {
      await tx`set local lock_timeout = '20s'`
      await dropPeriod(tx, early)
    })
    await reader`rollback`
    reader.release()
    t.equal((await client.get('/traces/again')).status, 404)
    await store(org.key, ['again'])
    t.same((await client.get('/traces/again')).body.annotations, [])
    await run(deleteExpired)
    const kept = await sql`select trace_id from trace_ids order by 1`
    t.same(kept, [{ trace_id: 'again' }, { trace_id: 'new' }])
    t.same(await sql`select from trace_periods where dropped_at is not null`, [])
  })
})
