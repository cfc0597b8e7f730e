import t from 'tap'
import { until } from '../../support/until.ts'
import { openService } from '../../support/service.ts'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'

t.test('a stored trace', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)

  t.test('is read in the parts that are asked for', async (t) => {
    await client.post('/traces', {
      id: 'parts',
      agent_name: 'a',
      spans: [{ id: 's' }],
      llm_calls: [{}],
    })
    const keysOf = async (fields: string) =>
      Object.keys((await client.get(`/traces/parts?fields=${fields}`)).body).sort()
    const named = ['id', 'project', 'project_id', 'trace_id']
    t.same(await keysOf('spans'), [...named, 'spans', 'spans_truncated'].sort())
    t.same(await keysOf('llm_calls,scores'), [...named, 'eval_scores', 'llm_calls'].sort())
    const core = await keysOf('core')
    t.ok(core.includes('agent_name') && !core.includes('spans') && !core.includes('eval_scores'))
    const all = await client.get('/traces/parts')
    t.match(all.body, { agent_name: 'a', spans: [{ id: 's' }], llm_calls: [{}], eval_scores: [] })
    t.equal((await client.get('/traces/parts?fields=all')).status, 422)
  })

  t.test('shows 2,000 spans, and the rest by page', async (t) => {
    const spans = Array.from({ length: 4500 }, (_, i) => ({ id: `s${i}` }))
    await client.post('/traces', { id: 'long', agent_name: 'a', spans })
    const { body } = await client.get('/traces/long')
    t.equal(body.spans.length, 2000)
    t.equal(body.spans_truncated, true)
    t.equal(body.span_count, 4500)
    const read: { id: string }[] = []
    let cursor = ''
    do {
      const page = await client.get(`/traces/long/spans?limit=2000${cursor && `&cursor=${cursor}`}`)
      t.equal(page.body.total, 4500)
      read.push(...page.body.spans)
      cursor = page.body.next_cursor
    } while (cursor)
    t.same(
      read.map(({ id }) => id),
      spans.map(({ id }) => id),
    )
    t.equal((await client.get('/traces/long/spans?cursor=nonsense')).status, 400)
    t.match((await client.get('/traces/parts/spans')).body, { total: 1, next_cursor: null })
  })

  t.test('that is not there is 404, alike for all reasons', async (t) => {
    const stranger = service.client((await service.makeOrganization()).key)
    const unknown = await client.get('/traces/unknown')
    const foreign = await stranger.get('/traces/parts')
    t.equal(unknown.status, 404)
    t.equal(foreign.status, 404)
    const { request_id: _, ...one } = unknown.body
    const { request_id: __, ...two } = foreign.body
    t.same(one, two)
    for (const path of ['', '/spans', '/decision', '/eval-scores', '/eval-breakdown']) {
      t.equal((await stranger.get(`/traces/parts${path}`)).status, 404, path)
    }
    for (const path of ['/decision', '/evaluate']) {
      t.equal((await stranger.post(`/traces/parts${path}`)).status, 404, path)
    }
    const push = { scores: [{ name: 'a', score: 1 }] }
    t.equal((await stranger.post('/traces/parts/eval-scores', push)).status, 404)
    t.equal((await stranger.delete('/traces/parts')).status, 404)
    t.equal((await client.get(`/traces/${'x'.repeat(129)}`)).status, 404)
    t.equal((await client.get('/traces/a%00b')).status, 404)
  })

  t.test('is counted', async (t) => {
    const caller = service.client((await service.makeOrganization()).key)
    await caller.post('/traces/batch', [
      { id: '1', agent_name: 'a', started_at: '2026-01-01T10:00:00Z', llm_calls: [] },
      { id: '2', agent_name: 'a', status: 'error', started_at: '2026-01-02T23:59:59Z' },
      { id: '3', agent_name: 'b', source_type: 'replayed', started_at: '2026-01-02T00:00:00Z' },
    ])
    await caller.post('/traces/1/decision')
    t.same((await caller.get('/traces/stats')).body, {
      total: 3,
      by_status: { error: 1, success: 2 },
      by_source_type: { production: 2, replayed: 1 },
      by_verdict: { drop: 1, none: 2 },
      by_reason: { 'malformed.empty': 1 },
      by_day: [
        { day: '2026-01-02', count: 2 },
        { day: '2026-01-01', count: 1 },
      ],
    })
    t.match((await caller.get('/traces/stats?agent_name=b')).body, { total: 1 })
    t.match((await caller.get('/traces/stats?since=2026-01-02T00:00:00Z')).body, { total: 2 })
    t.match(
      (await caller.get('/traces/stats?since=2026-01-02T12:00:00%2B13:00')).body,
      { total: 3 },
      'from the day in UTC on',
    )
    t.match((await caller.get('/traces/stats?agent_name=c')).body, { total: 0, by_day: [] })
    t.match((await caller.get('/traces/eval/stats')).body, {
      total_evaluated: 1,
      verdict_breakdown: { drop: 1 },
    })
    t.match((await caller.get('/traces/eval/stats?agent_name=b')).body, {
      total_evaluated: 0,
      pass_rate: null,
      avg_quality: null,
    })
  })

  t.test('takes its scores, decision and cells along when it is deleted', async (t) => {
    const workers = await service.startWorkers([judgeTracesHandler, aggregateScoresHandler])
    const caller = service.client((await service.makeOrganization()).key)
    const trace = { agent_name: 'a', user_input_preview: 'same words', scores: { reward: 1 } }
    await caller.post('/traces', { ...trace, id: 'gone', started_at: '2026-01-01T00:00:00Z' })
    await caller.post('/traces', { ...trace, id: 'copy', started_at: '2026-01-02T00:00:00Z' })
    const decision = async (id: string) => (await caller.get(`/traces/${id}/decision`)).body
    await until(async () => (await decision('copy')).reasons?.[0].code === 'duplicate.exact')
    await until(async () => (await aggregate()).groups[0]?.count === 2)

    t.equal((await caller.delete('/traces/gone')).status, 204)
    t.equal((await caller.delete('/traces/gone')).status, 404)
    t.equal((await caller.get('/traces/gone')).status, 404)
    await until(async () => (await decision('copy')).verdict === 'keep')
    await until(async () => (await aggregate()).groups[0]?.count === 1)
    for (const table of ['eval_scores', 'verdicts', 'trace_search']) {
      const [row] = await service.sql<{ n: number }[]>`
        select count(*)::int as n from ${service.sql(table)} where trace_id = 'gone'`
      t.equal(row?.n, 0, table)
    }
    await workers.stop()

    async function aggregate() {
      return (await caller.get('/eval-scores/aggregate?name=reward')).body
    }
  })
})

t.test('the prompt that rates skills is public, and cacheable by its tag', async (t) => {
  const service = await openService(t)
  const url = '/api/v1/traces/skill-rater/config'
  const first = await service.server.inject(url)
  t.equal(first.statusCode, 200)
  const body = JSON.parse(first.payload)
  t.match(body, {
    version: 1,
    prompt: String,
    scale: { min: 1, max: 5 },
    provenance: { fields: [] },
  })
  t.match(body.prompt_sha256, /^[0-9a-f]{64}$/)
  t.match(first.headers['cache-control'], /^public, max-age=\d+$/)
  const headers = { 'if-none-match': String(first.headers.etag) }
  const again = await service.server.inject({ url, headers })
  t.equal(again.statusCode, 304)
  t.equal(again.payload, '')
})
