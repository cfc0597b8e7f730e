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
})
