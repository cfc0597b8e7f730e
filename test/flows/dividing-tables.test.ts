import t from 'tap'
import { migrateAll } from '../../ops/migrate.ts'
import type { Sql, Transaction } from '../../sql/core/db.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { copyTraces, encodeTraces } from '../../sql/traces/trace-copy.ts'
import { judgeTracesHandler } from '../../workers/evals/judge-traces.ts'
import { openService } from '../support/service.ts'
import { emptyRow } from '../support/stored-traces.ts'
import { createUndivided, storeOld } from '../support/undivided.ts'
import { until } from '../support/until.ts'

const OLD = 40
const FIRST = '2000-01-01'

t.test('tables are divided under traffic', async (t) => {
  const { url, sql, org, waiting } = await createUndivided(t, OLD)
  t.same(waiting, ['0047-partitions.sql'])
  const service = await openService(t, { url })
  const client = service.client(org.key)
  await service.startWorkers([judgeTracesHandler])
  const failures: unknown[] = []
  const stored = new Set(Array.from({ length: OLD }, (_, i) => `old ${i}`))

  async function call(method: string, path: string, body?: unknown) {
    const answer = await client.call(method, path, body)
    if (answer.status >= 400) failures.push({ method, path, status: answer.status })
    return answer
  }

  /** Stores, reads, scores, lists and deletes; what is in `stored` stays. */
  async function pass(name: string) {
    const [kept, deleted, batched] = [`${name} kept`, `${name} deleted`, `${name} batched`]
    for (const id of [kept, deleted]) await call('POST', '/traces', traceOf(id))
    await call('POST', '/traces/batch', [traceOf(batched), traceOf(kept)])
    await copy(sql, org, `${name} imported`)
    for (const id of [kept, batched, `${name} imported`]) stored.add(id)
    await until(async () => (await client.get(`/traces/${kept}/decision`)).status === 200)
    await call('POST', '/traces/old 1/eval-scores', { scores: [{ name, score: 1 }] })
    await call('GET', '/traces/old 2')
    await call('GET', '/traces?q=hello')
    await call('GET', '/traces?verdict=keep')
    await call('DELETE', `/traces/${deleted}`)
  }

  await pass('before')
  const listed = (await client.get('/traces?limit=5')).body.traces
  let dividing = true
  const traffic = [0, 1, 2].map(async (n) => {
    for (let i = 0; dividing || i < 2; i++) await pass(`${n} ${i}`)
  })
  t.same(await migrateAll(url, { warn: () => undefined }, { finish: true }), [])
  dividing = false
  await Promise.all(traffic)
  await pass('after')

  t.same(failures, [], 'no request failed')
  const kept = await sql<{ trace_id: string }[]>`
    select t.trace_id from traces t join trace_ids k using (org_id, project_id, trace_id, period)`
  t.same(kept.map(({ trace_id }) => trace_id).sort(), [...stored].sort(), 'every trace is there')
  const periodOf = async (id: string) => {
    const [row] = await sql<{ period: string }[]>`
      select period::text as period from trace_ids where trace_id = ${id}`
    return row?.period
  }
  t.equal(await periodOf('before kept'), FIRST)
  t.not(await periodOf('after kept'), FIRST)
  t.match((await client.get('/traces/old 1/decision')).body, { trace_id: 'old 1' })
  const scores = (await client.get('/traces/old 1/eval-scores')).body.quality_scores
  const names = scores.map(({ name }: { name: string }) => name)
  t.ok(['reward', 'before', 'after'].every((name) => names.includes(name)))
  t.same(await listLeft(sql), [], 'what was found of traces is in their period')

  const list = (await client.get('/traces?limit=5')).body
  t.equal(list.total, stored.size)
  t.same(listed.length, 5)
  t.equal((await client.get('/traces/stats')).body.total, stored.size)
  await until(async () => (await countUnjudged(sql)) === 0)
  t.same(await countsOf(sql), { traces: stored.size, verdicts: stored.size }, 'counts are exact')
  t.equal((await client.delete('/traces/old 3')).status, 204)
  t.equal((await client.get('/traces/old 3')).status, 404)
})

t.test('the largest table is divided unread, and no index of it is built', async (t) => {
  const { url, sql } = await createUndivided(t, 5000)
  const tables = ['traces', 'eval_scores', 'verdicts', 'trace_search']
  const ids = await Promise.all(
    tables.map(async (name) => Number((await sql`select ${name}::regclass::oid as id`)[0]?.['id'])),
  )
  const before = await readUse(sql, ids)
  await migrateAll(url, { warn: () => undefined }, { finish: true })
  const after = await readUse(sql, ids)
  t.same(
    after.map(({ name }) => name),
    tables.map((name) => `${name}_2000_01`),
  )
  for (const [i, { scans, indexes, pages }] of after.entries()) {
    t.equal(scans, before[i]?.scans, `${tables[i]} is not read`)
    t.equal(pages, before[i]?.pages)
    t.same(
      indexes.filter((file) => !before[i]?.indexes.includes(file)),
      [],
      'no index is built',
    )
  }
})

t.test('the release before and this one store the same traces at once', async (t) => {
  const { sql, org } = await createUndivided(t, 0)
  const count = 200
  const rows = Array.from({ length: count }, (_, i) => rowOf(org, `old ${i}`))
  for (let round = 0; round < 5; round++) {
    await sql`delete from eval_scores`
    await sql`delete from verdicts`
    await sql`delete from trace_search`
    await sql`delete from traces`
    t.same(await sql`select from trace_ids`, [])
    await Promise.all([
      storeOld(sql, org, 0, count),
      sql.begin((tx: Transaction) => insertTraces(tx, rows)),
    ])
    t.equal((await sql`select from traces join trace_ids using (trace_id, period)`).length, count)
  }
})

function traceOf(id: string) {
  const messages = [
    { role: 'user', content: `hello ${id}` },
    { role: 'assistant', content: `I know ${id}` },
  ]
  return { id, agent_name: 'agent', messages, scores: { reward: 1 } }
}

function rowOf({ orgId, projectId }: Owner, id: string) {
  return { ...emptyRow(id), org_id: orgId, project_id: projectId }
}

/** As an import does. */
async function copy(sql: Sql, owner: Owner, id: string) {
  const rows = encodeTraces(owner.orgId, owner.projectId, [rowOf(owner, id)])
  await sql.begin((tx: Transaction) => copyTraces(tx, rows, 0, 1))
  await sql`
    insert into verdicts (org_id, project_id, period, trace_id, verdict, needs_review, reasons,
      policy_agent_name, policy_version)
    select org_id, project_id, period, trace_id, 'keep', false, '[]', '', 0 from trace_ids
    where trace_id = ${id}`
}

/** Rows that are not in the period of their trace. */
async function listLeft(sql: Sql) {
  return sql`
    select trace_id from (
      select org_id, project_id, trace_id, period from eval_scores
      union all select org_id, project_id, trace_id, period from verdicts
      union all select org_id, project_id, trace_id, period from trace_search) as found
    where not exists (
      select from traces t join trace_ids k using (org_id, project_id, trace_id, period)
      where (t.org_id, t.project_id, t.trace_id, t.period)
        = (found.org_id, found.project_id, found.trace_id, found.period))`
}

async function countUnjudged(sql: Sql) {
  const unjudged = await sql`
    select from traces t where not exists (select from verdicts v where v.trace_id = t.trace_id)`
  return unjudged.length
}

async function countsOf(sql: Sql) {
  const [counts] = await sql`
    select (select sum(n) from (select n from trace_counts union all
      select n from trace_count_changes) as c)::int as traces,
      (select sum(n) from (select n from verdict_counts union all
      select n from verdict_count_changes) as c)::int as verdicts`
  return counts
}

/** How often tables were read as a whole, and the files of their indexes. */
async function readUse(sql: Sql, ids: readonly number[]) {
  await sql`select pg_stat_clear_snapshot()`
  return sql<{ name: string; scans: number; pages: number; indexes: string[] }[]>`
    select s.relname as name, s.seq_scan::int as scans,
      (pg_relation_size(s.relid) / 8192)::int as pages,
      array(select pg_relation_filenode(indexrelid)::text from pg_index where indrelid = s.relid)
        as indexes
    from unnest(${ids}::oid[]) with ordinality as wanted (id, position)
    join pg_stat_all_tables s on s.relid = wanted.id order by position`
}

interface Owner {
  readonly orgId: string
  readonly projectId: string
}
