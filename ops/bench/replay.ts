// How fast replay tasks are claimed by many workers, against a bare loop of `for update skip locked` over
// a table of its own: as statements, and over HTTP with the input of each task, which the bare route
// does not make:
// [DATABASE_URL=...] node ops/bench/replay.ts [--tasks 10000] [--workers 20] [--seconds 5] [--connections 20]
// [--smoke]
import { randomUUIDv7 } from 'node:crypto'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Queryable, Sql } from '../../sql/core/db.ts'
import { claimTasks } from '../../sql/replay/leases.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { median, print, report, round, whole } from './figures.ts'
import { compareServers, LOAD_SIZES, serveApi, serveBare, SERVER_OPTIONS } from './http-load.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'

const options = readOptions(
  { ...LOAD_SIZES, connections: [20, 4], tasks: [10_000, 200], workers: [20, 4] },
  SERVER_OPTIONS,
)
const TRACES = 100

if (options.serve === 'service') await serveApi(options.url)
else if (options.serve === 'bare') await serveLoop(options.url)
else await compare()

async function compare() {
  await withBenchDatabase('replay', async (bench) => {
    await bench.sql`
      create table bare (id uuid primary key default gen_random_uuid(), ordinal int not null,
        payload text not null, status text not null default 'pending', attempt int not null default 0,
        token uuid, leased_by text, leased_until timestamptz)`
    await bench.sql`create index on bare (ordinal) where status = 'pending'`
    await storeTraces(bench)
    const rows = [await measureStatements(bench), await measureRequests(bench)]
    print(rows)
    const figures = rows.map(({ claim, bare_s, service_s, ratio }) => ({
      what: `claims of replay tasks, a ${claim} each`,
      ratio,
      figures: `${whole(service_s)} against ${whole(bare_s)} a second`,
    }))
    report(...figures)
  })
}

/** Both take turns, so that a disturbance meets both. */
async function measureStatements(bench: Bench) {
  const { tasks: count, workers } = options
  const sql = openDatabase(bench.url, { max: workers })
  const { org_id } = bench.owner
  const request = { projectIds: null, max: 1, leaseSeconds: 3600, leasedBy: 'bench' }
  const rates: { bare: number[]; service: number[] } = { bare: [], service: [] }
  for (let i = 0; i < options.rounds; i++) {
    await refill(bench, count)
    rates.bare.push(await claimAll(workers, () => claimBare(sql)))
    rates.service.push(await claimAll(workers, () => claimTasks(sql, org_id, request)))
  }
  await sql.end()
  return row('statement', median(rates.bare), median(rates.service))
}

async function measureRequests(bench: Bench) {
  // More than are claimed while it is measured and before.
  await refill(bench, 20 * options.tasks)
  const body = JSON.stringify({ worker_id: 'bench', lease_seconds: 3600 })
  const request = Buffer.from(
    `POST /api/v1/replay/tasks/claim HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${bench.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const load = { ...options, url: bench.url }
  const { bare, service } = await compareServers(import.meta.filename, load, () => request)
  for (const table of ['bare', 'replay_tasks']) {
    const left = await bench.sql`
      select 1 from ${bench.sql(table)} where status = 'pending' limit 1`
    if (left.length === 0) throw new Error(`All of ${table} was claimed: give more --tasks`)
  }
  return row('request', bare, service)
}

function row(claim: string, bare: number, service: number) {
  return {
    claim,
    bare_s: Math.round(bare),
    service_s: Math.round(service),
    ratio: round(service / bare),
  }
}

/** Claims until nothing is left, and returns the claims a second. */
async function claimAll(workers: number, claim: () => Promise<readonly object[]>) {
  const startedAt = performance.now()
  let claimed = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while ((await claim()).length > 0) claimed++
    }),
  )
  return (1000 * claimed) / (performance.now() - startedAt)
}

function claimBare(sql: Queryable) {
  return sql<object[]>`
    update bare set status = 'leased', attempt = attempt + 1, token = gen_random_uuid(),
      leased_by = 'bench', leased_until = now() + interval '1 hour'
    where id = (
      select id from bare where status = 'pending' order by ordinal limit 1 for update skip locked)
    returning id, payload, attempt, token, leased_until`
}

/** As many tasks of one batch as rows of the bare table, none of them claimed. */
async function refill({ sql, owner: { org_id, project_id } }: Bench, count: number) {
  const [batch, manifest] = [randomUUIDv7(), randomUUIDv7()]
  await sql`truncate bare`
  await sql`delete from replay_batches`
  await sql`insert into bare (ordinal, payload) select n, 't' || n from generate_series(1, ${count}) n`
  const hash = `sha256:${manifest.replaceAll('-', '').padStart(64, '0')}`
  await sql`
    insert into manifests (org_id, project_id, agent_name, id, version_number, manifest_hash, shown_hash,
      contract_hash, status, is_closed_world, components_count)
    select ${org_id}, ${project_id}, 'bench-agent', ${manifest}, count(*) + 1, ${hash}, ${hash}, ${hash},
      'superseded', false, 0
    from manifests`
  await sql`
    insert into replay_batches (org_id, project_id, id, agent_name, target_manifest_id, trace_ids, job_id,
      mode, prepared_at, expires_at)
    values (${org_id}, ${project_id}, ${batch}, 'bench-agent', ${manifest}, '{}', ${randomUUIDv7()},
      'pull', now(), now() + interval '1 day')`
  await sql`
    insert into replay_tasks (org_id, project_id, batch_id, id, ordinal, trace_id, replayability, status,
      created_at)
    select ${org_id}, ${project_id}, ${batch}, gen_random_uuid(), n, 't' || n % ${TRACES}, 'full',
      'pending', now()
    from generate_series(1, ${count}) n`
  await sql`analyze replay_tasks, replay_batches, replay_tallies, bare`
}

async function storeTraces({ sql, owner }: Bench) {
  const prose = 'Be brief, never guess, and use the tools you have. '.repeat(40)
  const rows = Array.from({ length: TRACES }, (_, i) => {
    const rendered_input = [
      { role: 'system', content: prose },
      { role: 'user', content: `Where is my order ${i}?` },
    ]
    const call = { rendered_input, output: { content: `Order ${i} was shipped.` } }
    const trace = { trace_id: `t${i}`, agent_name: 'bench-agent', llm_calls: [call] }
    const read = readTrace(trace, { traceId: randomUUIDv7, now: new Date() })
    if ('faults' in read) throw new Error(JSON.stringify(read.faults))
    return { ...toTraceRow(read.trace, 'shared'), ...owner }
  })
  await insertTraces(sql, rows)
}

async function serveLoop(url: string) {
  const sql: Sql = openDatabase(url, { max: 16 })
  await serveBare([
    {
      method: 'POST',
      path: '/api/v1/replay/tasks/claim',
      handler: async () => ({ tasks: await claimBare(sql) }),
    },
  ])
}
