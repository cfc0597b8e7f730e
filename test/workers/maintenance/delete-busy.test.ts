import t from 'tap'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { makeDeleteHandler } from '../../../workers/maintenance/delete-traces.ts'
import { loadHandlers } from '../../support/handlers.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('traces are deleted while all others write about them', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const evals = await loadHandlers(['evals'])
  const deleting = makeDeleteHandler({ sliceMs: 100, rowsTogether: 100 })
  const handlers = [...evals, importTracesHandler, deleting]
  const queues = handlers.map(({ job }) => job.name)
  await service.startWorkers(handlers)
  const [before] = await deadlocks()

  const ids = Array.from({ length: TRACES }, (_, i) => `t${String(i).padStart(4, '0')}`)
  const trace = (id: string, n: number) => ({
    trace_id: id,
    agent_name: 'agent',
    session_id: `s${n % 2}`,
    status: 'success',
    started_at: new Date(Date.UTC(2026, 9, 1) + n * 1000).toISOString(),
    // Each conversation is that of three traces, of which some are deleted.
    llm_calls: [
      {
        rendered_input: [{ role: 'user', content: `question ${n % (TRACES / 3)}` }],
        output: { role: 'assistant', content: 'answer' },
      },
    ],
  })
  const all = ids.map(trace)
  t.match(await client.post('/traces/batch', all), { status: 200, body: { count: TRACES } })

  const statuses = new Set<number>()
  let isOver = false
  /** Does something with traces in some order, again and again until the deletions are over. */
  async function busy(work: (ids: readonly string[]) => Promise<{ status: number }>) {
    for (let n = 0; !isOver; n++) {
      const from = (n * 37) % TRACES
      const some = [...ids.slice(from), ...ids.slice(0, from)].slice(0, 60).reverse()
      statuses.add((await work(some)).status)
    }
  }
  const scoreOf = (trace_id: string) => ({ trace_id, source: 'custom', name: 'reward', score: 0.5 })
  const lines = (some: readonly string[]) =>
    some.map((id) => JSON.stringify(trace(id, ids.indexOf(id)))).join('\n')
  const writers = [
    busy((some) => client.post('/eval-scores', { scores: some.map(scoreOf) })),
    busy((some) => client.post('/traces/batch-decision', { trace_ids: some })),
    busy((some) =>
      client.post(
        '/traces/batch',
        some.map((id) => trace(id, ids.indexOf(id))),
      ),
    ),
    busy((some) => client.post(`/traces/${some[0]}/annotations`, { rating: 4 })),
    busy((some) => client.call('DELETE', `/traces/${some[1]}`)),
    busy((some) =>
      client.call('POST', '/import/jsonl', lines(some), { 'content-type': 'application/x-ndjson' }),
    ),
  ]
  for (let round = 0; round < ROUNDS; round++) {
    const both = ['session_id=s0', 'agent_name=agent&since=2026-10-01T00:02:00Z']
    const answers = await Promise.all(
      both.map((query) =>
        client.call('DELETE', `/traces?${query}`, undefined, { prefer: 'wait=50' }),
      ),
    )
    for (const { status, body } of answers) {
      t.match({ status, state: body.status }, { status: 200, state: 'succeeded' })
    }
  }
  isOver = true
  await Promise.all(writers)
  t.notOk(
    [...statuses].some((status) => status >= 500),
    [...statuses].join(),
  )
  const [after] = await deadlocks()
  t.equal(after?.n, before?.n, 'nobody waited for who waited for him')

  await until(async () => {
    const open = await sql`
      select from pgboss.job where state < 'completed' and name = any(${queues}) limit 1`
    return open.length === 0
  })
  const failed = await sql`select kind, error from jobs where state = 'failed'`
  t.same([...failed], [])
  const orphans = await sql`
    select v.trace_id from verdicts v
    where v.duplicate_of is not null and not exists (
      select from trace_ids k where k.org_id = v.org_id and k.trace_id = v.duplicate_of)`
  t.same([...orphans], [], 'no decision names a trace that is gone')

  async function deadlocks() {
    await sql`select pg_stat_clear_snapshot()`
    return sql<{ n: number }[]>`
      select deadlocks as n from pg_stat_database where datname = current_database()`
  }
})

const TRACES = 300
const ROUNDS = 5
