import t from 'tap'
import { openService } from '../../support/service.ts'

t.test('POST /traces/batch', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)

  t.test('stores a bare list and an object of traces alike', async (t) => {
    const bare = await client.post('/traces/batch', [{ agent_name: 'a', id: 'b1' }])
    t.match(bare, { status: 200, body: { count: 1, trace_ids: ['b1'], skipped: 0, errors: [] } })
    const named = await client.post('/traces/batch', { traces: [{ agent_name: 'a', id: 'b2' }] })
    t.match(named, { status: 200, body: { count: 1, trace_ids: ['b2'] } })
  })

  t.test('is to be sent again when another transaction was in the way', async (t) => {
    const sent = [{ agent_name: 'a', id: 'again' }]
    const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' })
    const { restore } = t.intercept(service.context.queue, 'transaction', {
      value: () => Promise.reject(deadlock),
    })
    const refused = { status: 503, headers: { 'retry-after': '1' }, body: { code: 'unavailable' } }
    t.match(await client.post('/traces/batch', sent), refused)
    restore()
    t.match(await client.post('/traces/batch', sent), { status: 200, body: { count: 1 } })
  })

  t.test('stores the good ones of a list and says what is wrong with the others', async (t) => {
    const { status, body } = await client.post('/traces/batch', [
      { agent_name: 'a', id: 'good-1' },
      { id: 'nameless', agent_name: '\n' },
      { agent_name: 'a', id: 'good-1' },
      'no trace',
      { agent_name: 'a', id: 'b1' },
      { agent_name: 'a', id: 'good-2', scores: { x: 1 } },
      { agent_name: 'a', id: 'bad-score', scores: { x: 7 }, manifest_id: 'v7' },
      { agent_name: 'a', id: 5, project: 'another' },
    ])
    t.equal(status, 200)
    t.equal(body.count, 4)
    t.same(body.trace_ids, ['good-1', 'good-2', 'bad-score', '5'])
    t.equal(body.skipped, 2, 'one of this request, one of an earlier one')
    t.same(
      body.errors.map(({ index, trace_id, code }: Record<string, unknown>) => [
        index,
        trace_id,
        code,
      ]),
      [
        [1, 'nameless', 'validation_error'],
        [3, null, 'validation_error'],
      ],
    )
    t.match(body.warnings, [
      { index: 6, trace_id: 'bad-score', code: 'unknown_manifest' },
      { index: 6, trace_id: 'bad-score', code: 'invalid_score', message: /scores.x.value must be/ },
    ])
    t.equal(body.warnings.length, 2)
    t.equal((await client.get('/traces/5?project=another')).status, 200)
  })

  t.test('takes 1 to 1,000 traces', async (t) => {
    const many = (n: number) => Array.from({ length: n }, () => ({ agent_name: 'many' }))
    t.equal((await client.post('/traces/batch', [])).status, 422)
    t.equal((await client.post('/traces/batch', { traces: 5 })).status, 422)
    t.match(await client.post('/traces/batch', {}), {
      status: 422,
      body: { details: { errors: [{ field: 'body.traces' }] } },
    })
    t.equal((await client.post('/traces/batch', many(1001))).status, 422)
    t.match(await client.post('/traces/batch', many(1000)), { status: 200, body: { count: 1000 } })
  })

  t.test('takes more than a single trace may weigh', async (t) => {
    const text = 'x'.repeat(1 << 20)
    const traces = Array.from({ length: 8 }, () => ({ agent_name: 'a', metadata: { text } }))
    t.match(await client.post('/traces/batch', traces), { status: 200, body: { count: 8 } })
    const tooMuch = Array.from({ length: 52 }, () => traces[0])
    t.equal((await client.post('/traces/batch', tooMuch)).status, 413)
  })

  t.test('has every new trace judged, in jobs of at most 500', async (t) => {
    const jobs = await service.sql<{ n: number }[]>`
      select jsonb_array_length(data -> 'payload' -> 'trace_ids') as n
      from pgboss.job where name = 'evals.judge'`
    const [row] = await service.sql<{ n: number }[]>`select count(*)::int as n from traces`
    t.equal(
      jobs.reduce((sum, { n }) => sum + n, 0),
      row?.n,
    )
    t.ok(jobs.every(({ n }) => n <= 500))
  })

  t.test('takes many batches of an organization at once', async (t) => {
    const { key, orgId } = await service.makeOrganization()
    const crowded = service.client(key)
    const started = [...Array(8).keys()].map((request) => makeBatch(request, 'running'))
    const finished = started.map((_, request) => makeBatch(request, 'success'))
    const together = started.flatMap((batch, i) => [batch, finished[i]])
    const answers = await Promise.all(together.map((batch) => crowded.post('/traces/batch', batch)))
    t.match(
      answers,
      together.map(() => ({ status: 200, body: { errors: [] } })),
      'none was in the way',
    )
    const count = (of: 'count' | 'updated' | 'skipped') =>
      answers.reduce((sum, { body }) => sum + body[of], 0)
    t.equal(count('count'), 2400)
    t.equal(count('updated') + count('skipped'), 2400)
    const [stored] = await service.sql`
      select count(*)::int as traces, count(*) filter (where status = 'success')::int as finished,
        (select count(*)::int from projects where org_id = ${orgId} and name like 'at-once-%') as projects,
        (select count(*)::int from eval_scores where org_id = ${orgId}) as scores,
        (select current::int from usage where org_id = ${orgId} and metric = 'traces_ingested') as counted
      from traces where org_id = ${orgId}`
    t.same(stored, { traces: 2400, finished: 2400, projects: 6, scores: 2400, counted: 2400 })
  })
})

/** 300 traces of six projects, which each request names in another order. */
function makeBatch(request: number, status: string) {
  return [...Array(300).keys()].map((i) => ({
    trace_id: `crowd-${request}-${i}`,
    project: `at-once-${(request * 5 + i * (request % 2 ? 1 : 5)) % 6}`,
    agent_name: `agent-${i % 7}`,
    manifest_hash: (i % 9).toString().repeat(64),
    status,
    started_at: '2026-03-01T10:00:00Z',
    scores: { reward: 1 },
  }))
}
