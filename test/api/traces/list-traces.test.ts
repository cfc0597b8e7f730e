import t from 'tap'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('GET /traces', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
  const registered = await client.post('/manifests', {
    agent_name: 'support',
    components: [{ type: 'tool', name: 'search' }],
  })
  const { manifest_id } = registered.body
  const says = (text: string) => [
    { rendered_input: [{ role: 'user', content: text }], output: { content: 'ok' } },
  ]

  await client.post('/traces/batch', [
    {
      id: 'one',
      agent_name: 'support',
      manifest_id,
      manifest_hash: 'hash-1',
      session_id: 'session-1',
      task_id: 'task-1',
      parent_trace_id: 'parent-1',
      source_type: 'synthetic',
      environment: 'prod',
      user_id: 'ann',
      tags: ['red', 'blue'],
      started_at: at(1),
      llm_calls: [{ ...says('refund my ticket')[0], tool_calls: [{ tool_name: 'search' }] }],
      scores: { reward: 1 },
    },
    {
      id: 'two',
      agent_name: 'billing',
      status: 'error',
      error_message: 'connection refused',
      tags: ['blue'],
      started_at: at(2),
      llm_calls: says('pay the invoice'),
      scores: { reward: 0 },
    },
    {
      id: 'three',
      agent_name: 'billing',
      status: 'running',
      started_at: at(3),
      user_input_preview: 'still going',
    },
  ])
  await client.post('/traces/one/annotations', { flagged_for_review: true })
  await client.post('/traces/batch-decision', { trace_ids: ['one', 'two', 'three'] })

  const idsOf = async (query: string, caller = client) => {
    const { status, body } = await caller.get(`/traces?${query}`)
    return status === 200 ? body.traces.map(({ id }: { id: string }) => id) : status
  }

  t.test('lists newest first, without content', async (t) => {
    t.same(await idsOf(''), ['three', 'two', 'one'])
    const { body } = await client.get('/traces')
    t.match(body, { total: 3, limit: 50, offset: 0, next_cursor: null })
    t.notOk(body.traces.some((trace: object) => 'spans' in trace || 'llm_calls' in trace))
    t.match(body.traces[2], {
      verdict: 'keep',
      reason_code: 'score.good',
      eval_verdict: 'pass',
      eval_score: 1,
    })
    t.match(body.traces[0], { verdict: null, reason_code: null, eval_score: null })
  })

  t.test('each filter selects what it names and nothing else', async (t) => {
    for (const [query, ...ids] of [
      ['agent_name=support', 'one'],
      [`manifest_id=${manifest_id}`, 'one'],
      ['manifest_hash=hash-1', 'one'],
      ['session_id=session-1', 'one'],
      ['task_id=task-1', 'one'],
      ['parent_trace_id=parent-1', 'one'],
      ['status=error', 'two'],
      ['status=running', 'three'],
      ['source_type=synthetic', 'one'],
      ['environment=prod', 'one'],
      ['user_id=ann', 'one'],
      ['verdict=keep', 'one'],
      ['verdict=drop', 'two'],
      ['eval_verdict=fail', 'two'],
      ['needs_review=true', 'one'],
      ['tag=blue', 'two', 'one'],
      ['tag=blue&tag=red', 'one'],
      ['tool=search', 'one'],
      ['min_score=0.7', 'one'],
      ['max_score=0.7', 'two'],
      ['min_score=0&max_score=1', 'two', 'one'],
      [`since=${at(2)}`, 'three', 'two'],
      [`until=${at(2)}`, 'one'],
      ['q=refund', 'one'],
      ['q=connection', 'two'],
      ['q=ticket%20refund', 'one'],
      ['q=refund%20or%20invoice', 'two', 'one'],
      ['q=%22my%20ticket%22', 'one'],
      ['q=ok%20-refund', 'two'],
      ['q=going', 'three'],
      ['agent_name=billing&status=error&tag=blue', 'two'],
    ] as const) {
      t.same(await idsOf(query), ids, query)
      const { body } = await client.get(`/traces?${query}`)
      t.equal(body.total, ids.length, `${query}: total`)
    }
    const unknown = '0198c0de-0000-7000-8000-000000000002'
    for (const query of [
      'agent_name=Support',
      `manifest_id=${unknown}`,
      'manifest_hash=hash',
      'session_id=x',
      'task_id=x',
      'parent_trace_id=x',
      'status=partial',
      'source_type=replayed',
      'environment=x',
      'user_id=x',
      'verdict=replay',
      'eval_verdict=review',
      'needs_review=true&agent_name=billing',
      'tag=green',
      'tool=sear',
      'min_score=0.3&max_score=0.6',
      `since=${at(4)}`,
      `until=${at(1)}`,
      'q=nothing',
      'q=%25',
      'q=ref_nd',
    ]) {
      t.same(await idsOf(query), [], query)
    }
  })

  t.test('words are found by their forms and the last one by its beginning', async (t) => {
    const other = await service.makeOrganization()
    const theirs = service.client(other.key)
    const inputs = {
      universe: 'The universities of the universe',
      refunds: 'Two refunds for shipped orders',
      refund: 'who will refund me',
      order: "an order that isn't here: C:\\tmp",
      compound: 'rate_limit_exceeded card_declined self-service find_parcel api.example.com',
    }
    const traces = Object.entries(inputs).map(([id, user_input_preview], i) => ({
      id,
      agent_name: 'a',
      status: 'running',
      started_at: at(i),
      user_input_preview,
    }))
    await theirs.post('/traces/batch', traces)
    await theirs.post('/traces/batch-decision', { trace_ids: Object.keys(inputs) })
    for (const [q, ...ids] of [
      ['refund', 'refund', 'refunds'],
      ['refunds', 'refund', 'refunds'],
      ['REFUNDED', 'refund', 'refunds'],
      ['ref', 'refund', 'refunds'],
      ['universit', 'universe'],
      ['order ref', 'refunds'],
      ['ref order'],
      ['here or universit', 'order', 'universe'],
      ['who -x', 'refund'],
      ['order -refund', 'order'],
      ['-refunds -universe -card', 'order'],
      ['-who shipping', 'refunds'],
      ['-ref -univ order', 'order', 'refunds'],
      ['"shipped orders"', 'refunds'],
      ['"orders two"'],
      ['"shipped ord'],
      ['"ref"'],
      ["isn'", 'order'],
      ['c:\\tm', 'order'],
      ["'"],
      ['rate_limit_exc', 'compound'],
      ['card_decl', 'compound'],
      ['self-serv', 'compound'],
      ['find_parc', 'compound'],
      ['cards self-serv', 'compound'],
      ['api.exam', 'compound'],
      ['rat_limit_exc'],
    ] as const) {
      t.same(await idsOf(`q=${encodeURIComponent(q)}`, theirs), ids, q)
    }
  })

  t.test('a wrong filter is 422 and names its field, whatever it holds', async (t) => {
    for (const query of [
      'status=great',
      'since=yesterday',
      'min_score=2',
      'limit=0',
      'limit=501',
      'offset=-1',
      'q=a%00b',
      'verdict=none',
    ]) {
      const { status, body } = await client.get(`/traces?${query}`)
      t.equal(status, 422, query)
      t.match(body.details.errors[0].field, /^query\./)
    }
    const strange = [
      'not one',
      Buffer.from('["2026-01-01T00:00:00Z"]').toString('base64url'),
      Buffer.from('["2026-01-01T00:00:00Z","a\\u0000","x"]').toString('base64url'),
      Buffer.from('["2026-01-01T00:00:00Z","a","no uuid"]').toString('base64url'),
    ]
    for (const cursor of strange)
      t.equal((await client.get(`/traces?cursor=${cursor}`)).status, 400)
    t.equal((await client.get('/traces?unknown=1')).status, 200)
    const since = await Promise.all(
      Array.from({ length: 100 }, () => client.get('/traces?since=garbage')),
    )
    t.ok(since.every(({ status }) => status === 422))
    t.equal((await client.get('/traces')).status, 200)
  })

  t.test('a key sees the traces of its scope', async (t) => {
    await client.post('/traces', {
      id: 'elsewhere',
      agent_name: 'a',
      project: 'other',
      started_at: at(9),
    })
    t.same(await idsOf(''), ['elsewhere', 'three', 'two', 'one'])
    t.same(await idsOf('project=other'), ['elsewhere'])
    t.same(await idsOf('project=default'), ['three', 'two', 'one'])
    t.equal(await idsOf('project=unknown'), 404)
    const made = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'read',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const scoped = service.client(made.raw)
    t.same(await idsOf('', scoped), ['three', 'two', 'one'])
    t.equal(await idsOf('project=other', scoped), 403)
    const stranger = service.client((await service.makeOrganization()).key)
    t.same(await idsOf('', stranger), [])
    t.same(await idsOf('q=refund', stranger), [])
  })
})

t.test('a walk by cursor meets every trace once, while others arrive', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)
  const at = (i: number) => new Date(Date.UTC(2026, 0, 1) + Math.floor(i / 4) * 1000).toISOString()
  // Several traces share a start, several projects an id.
  const old = Array.from({ length: 90 }, (_, i) => ({
    id: `old-${i % 45}`,
    agent_name: 'a',
    project: i < 45 ? 'left' : 'right',
    started_at: at(i % 45),
  }))
  t.match(await client.post('/traces/batch', old), { body: { count: 90 } })
  const seen: string[] = []
  let cursor: string | null = ''
  for (let page = 0; cursor !== null; page++) {
    const {
      body,
    }: { body: { traces: { id: string; project: string }[]; next_cursor: string | null } } =
      await client.get(`/traces?limit=7${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.traces.map(({ id, project }) => `${project}/${id}`))
    cursor = body.next_cursor
    await client.post('/traces', { id: `new-${page}`, agent_name: 'a', started_at: at(page) })
    await client.post('/traces', { id: `newest-${page}`, agent_name: 'a' })
  }
  const olds = seen.filter((id) => id.includes('/old-'))
  t.equal(olds.length, 90)
  t.equal(new Set(seen).size, seen.length, 'none twice')
  const { body } = await client.get('/traces?limit=10&offset=5')
  t.match(body, { offset: 5, limit: 10 })
  t.equal(body.traces.length, 10)
})
