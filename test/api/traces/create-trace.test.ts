import t from 'tap'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('POST /traces', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const call = {
    rendered_input: [{ role: 'user', content: 'hello' }],
    output: {
      content: 'hi',
      tool_calls: [{ id: 'c', function: { name: 'wave', arguments: '{}' } }],
    },
  }

  t.test('stores a trace, of which only the agent has to be named', async (t) => {
    const { status, body } = await client.post('/traces', { agent_name: 'a' })
    t.equal(status, 201)
    t.match(body, {
      status: 'ok',
      agent_name: 'a',
      spans: 0,
      llm_calls: 0,
      verdict: null,
      created: true,
    })
    t.equal(body.id, body.trace_id)
    const shown = await client.get(`/traces/${body.id}`)
    t.match(shown.body, {
      id: body.id,
      status: 'success',
      source_type: 'production',
      project: 'default',
    })
  })

  t.test('gives back what it was given, with defaults and what follows from it', async (t) => {
    const sent = {
      trace_id: 'full',
      agent_name: 'a',
      manifest_hash: 'h1',
      session_id: 's',
      turn_index: 2,
      task_id: 't',
      started_at: '2026-01-02T03:04:05Z',
      ended_at: '2026-01-02T03:04:07.500Z',
      tags: ['x', 'y'],
      metadata: { a: { b: 1 } },
      active_skills: ['s1', { name: 's2', hash: 'h' }],
      spans: [{ id: 'p', span_type: 'somersault', name: 'run', attributes: { k: [1] } }],
      llm_calls: [{ ...call, input_tokens: 3, output_tokens: 4, cost_usd: 0.5, latency_ms: 100 }],
      scores: { reward: 1 },
      something_new: { kept: true },
    }
    t.equal((await client.post('/traces', sent)).status, 201)
    const { body } = await client.get('/traces/full')
    t.match(body, {
      trace_id: 'full',
      manifest_hash: 'h1',
      session_id: 's',
      turn_index: 2,
      task_id: 't',
      started_at: '2026-01-02T03:04:05.000Z',
      duration_ms: 2500,
      tags: ['x', 'y'],
      metadata: { a: { b: 1 }, extra: { something_new: { kept: true } } },
      active_skills: [{ name: 's1' }, { name: 's2', hash: 'h' }],
      user_input_preview: 'hello',
      final_output_preview: 'hi',
      tools_called: ['wave'],
      span_count: 1,
      llm_call_count: 1,
      tool_call_count: 1,
      input_tokens: 3,
      output_tokens: 4,
      cost_usd: 0.5,
      spans: [{ id: 'p', span_type: 'other', attributes: { k: [1] } }],
      llm_calls: [{ rendered_input: call.rendered_input, tool_calls: [{ tool_name: 'wave' }] }],
      eval_scores: [{ name: 'reward', value: 1, source: 'custom' }],
    })
  })

  t.test('takes a time without an offset as UTC, and an end from a duration', async (t) => {
    const sent = { agent_name: 'a', started_at: '2026-03-29 02:30:00', duration_ms: 1500 }
    const { body } = await client.post('/traces', sent)
    t.match((await client.get(`/traces/${body.id}`)).body, {
      started_at: '2026-03-29T02:30:00.000Z',
      ended_at: '2026-03-29T02:30:01.500Z',
      duration_ms: 1500,
    })
    const odd = { agent_name: 'a', started_at: '9999-12-31T23:59:58Z', duration_ms: 1e300 }
    t.equal((await client.post('/traces', odd)).status, 201)
    t.equal((await client.post('/traces', { ...odd, duration_ms: 86_400_000 })).status, 201)
  })

  t.test('answers 200 with the stored trace to an id the project has', async (t) => {
    const first = { trace_id: 'twice', agent_name: 'first', spans: [{}, {}], scores: { a: 1 } }
    t.match(await client.post('/traces', first), { status: 201, body: { created: true } })
    const second = { trace_id: 'twice', agent_name: 'second', scores: { b: 1 } }
    t.match(await client.post('/traces', second), {
      status: 200,
      body: { id: 'twice', agent_name: 'first', spans: 2, created: false },
    })
    const { body } = await client.get('/traces/twice')
    t.same(
      body.eval_scores.map(({ name }: { name: string }) => name),
      ['a'],
    )
  })

  t.test('takes ids with slashes and other marks, and the id as `id`', async (t) => {
    for (const id of ['a/b', 'ä ö', '%2F', '..x', "o'brien"]) {
      t.equal((await client.post('/traces', { id, agent_name: 'a' })).status, 201, id)
      const { status, body } = await client.get(`/traces/${encodeURIComponent(id)}`)
      t.equal(status, 200, id)
      t.equal(body.trace_id, id)
    }
  })

  t.test('answers all of 64 requests at once, and stores each trace once', async (t) => {
    const before = await count()
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        client.post('/traces', { trace_id: `at-once-${i % 32}`, agent_name: `a${i}` }),
      ),
    )
    t.equal(answers.filter(({ status }) => status === 201).length, 32)
    t.equal(answers.filter(({ status }) => status === 200).length, 32)
    t.equal((await count()) - before, 32)
  })

  t.test('keeps a request that cannot be stored from failing its neighbours', async (t) => {
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const other = service.client(scoped.raw)
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        i % 3 === 0
          ? other.post('/traces', { agent_name: 'a', project: 'elsewhere' })
          : client.post('/traces', { agent_name: 'a' }),
      ),
    )
    t.same(
      answers.map(({ status }) => status),
      [403, 201, 201, 403, 201, 201, 403, 201, 201, 403, 201, 201],
    )
  })

  t.test('lists every field that is wrong', async (t) => {
    const { status, body } = await client.post('/traces', {
      trace_id: 'x'.repeat(129),
      agent_name: 5,
      manifest_id: {},
      session_id: {},
      turn_index: -1,
      status: 'great',
      source_type: 'dream',
      started_at: 'yesterday',
      ended_at: 5,
      tags: 'x',
      metadata: [],
      spans: [5, { name: 5, attributes: 'x' }],
      llm_calls: [
        { rendered_input: ['x'], input_tokens: -1, tool_calls: [{}], streaming: 'no', output: 5 },
      ],
      active_skills: [5],
      scores: { a: 2 },
    })
    t.equal(status, 422)
    t.equal(body.code, 'validation_error')
    const fields = body.details.errors.map(({ field }: { field: string }) =>
      field.replace('body.', ''),
    )
    t.same(
      fields.sort(),
      [
        'trace_id',
        'agent_name',
        'manifest_id',
        'session_id',
        'turn_index',
        'status',
        'source_type',
        'started_at',
        'ended_at',
        'tags',
        'metadata',
        'spans.0',
        'spans.1.name',
        'spans.1.attributes',
        'llm_calls.0.rendered_input.0',
        'llm_calls.0.input_tokens',
        'llm_calls.0.tool_calls.0.tool_name',
        'llm_calls.0.streaming',
        'llm_calls.0.output',
        'active_skills.0',
      ].sort(),
    )
    t.equal((await client.post('/traces', [])).status, 422)
  })

  t.test('is of the agent `default` when it names none', async (t) => {
    for (const sent of [{}, { agent_name: null }]) {
      const { status, body } = await client.post('/traces', sent)
      t.equal(status, 201)
      t.equal(body.agent_name, 'default')
    }
  })

  t.test('is stored without the scores that are faulty, which are reported', async (t) => {
    const eval_scores = [{ name: 'good', score: 1 }, { name: 'high', score: 7 }, 'no score']
    const sent = await client.post('/traces', { id: 'scored', agent_name: 'a', eval_scores })
    t.match(sent, {
      status: 201,
      body: {
        created: true,
        warnings: [
          { code: 'invalid_score', message: /eval_scores.1.score must be a number from 0 to 1/ },
          { code: 'invalid_score', message: /eval_scores.2 must be an object/ },
        ],
      },
    })
    t.match((await client.get('/traces/scored')).body.eval_scores, [{ name: 'good', value: 1 }])
    const without = await client.post('/traces', { agent_name: 'a', scores: 'none' })
    t.match(without, { status: 201, body: { warnings: [{ code: 'invalid_score' }] } })
  })

  t.test('keeps a manifest_id that is none of the agent’s in metadata', async (t) => {
    const { body } = await client.post('/manifests', {
      agent_name: 'other',
      components: [{ type: 'tool', name: 'x' }],
    })
    for (const manifest_id of ['v7', '0197a1b2-0000-7000-8000-000000000000', body.manifest_id]) {
      const metadata = { manifest_id: 'own' }
      const stored = await client.post('/traces', { agent_name: 'a', manifest_id, metadata })
      t.match(stored, { status: 201, body: { warnings: [{ code: 'unknown_manifest' }] } })
      t.equal(stored.body.warnings.length, 1)
      t.match((await client.get(`/traces/${stored.body.id}`)).body, {
        manifest_id: null,
        manifest_hash: null,
        metadata: { ...metadata, unknown_manifest_id: manifest_id },
      })
    }
    for (const [manifest_id, kept] of [
      [42, '42'],
      [true, 'true'],
      ['v'.repeat(300), 'v'.repeat(256)],
    ]) {
      const stored = await client.post('/traces', { agent_name: 'a', manifest_id })
      t.match(stored, { status: 201, body: { warnings: [{ code: 'unknown_manifest' }] } })
      const { metadata } = (await client.get(`/traces/${stored.body.id}`)).body
      t.equal(metadata.unknown_manifest_id, kept)
    }
  })

  t.test('has the hash of the manifest it names by id, in capitals too', async (t) => {
    const { body } = await client.post('/manifests', {
      agent_name: 'named',
      components: [{ type: 'tool', name: 'x' }],
    })
    const manifest_hash = body.manifest_hash.replace('sha256:', '')
    const stored = await client.post('/traces', {
      agent_name: 'named',
      manifest_id: body.manifest_id.toUpperCase(),
    })
    t.same(stored.body.warnings, [])
    t.match((await client.get(`/traces/${stored.body.id}`)).body, {
      manifest_id: body.manifest_id,
      manifest_hash,
      metadata: {},
    })
    const found = await client.get(`/traces?manifest_hash=sha256:${manifest_hash.toUpperCase()}`)
    t.match(found.body, { total: 1, traces: [{ id: stored.body.id }] })
  })

  t.test('survives what databases refuse', async (t) => {
    const odd = 'nul \0 and half a pair \ud800 \u{1F600}'
    const { status, body } = await client.post('/traces', {
      agent_name: 'a',
      user_input_preview: odd,
      metadata: { [odd]: odd },
      llm_calls: [{ rendered_input: [{ role: 'user', content: odd }] }],
      cost_usd: 1e300,
    })
    t.equal(status, 201)
    const shown = await client.get(`/traces/${body.id}`)
    t.equal(shown.status, 200)
    t.equal(shown.body.llm_calls[0].rendered_input[0].content, odd, 'content is kept to the letter')
    t.notMatch(shown.body.user_input_preview, '\0')
    for (const name of ['a\0b', 'a\nb', '\ud800', ' '.repeat(300)]) {
      t.equal((await client.post('/traces', { agent_name: name })).status, 422)
      t.equal((await client.post('/traces', { agent_name: 'a', trace_id: name })).status, 422)
    }
    const many = { output_tokens: Number.MAX_SAFE_INTEGER, cost_usd: 1e308 }
    const calls = Array.from({ length: 2000 }, () => many)
    t.equal((await client.post('/traces', { agent_name: 'a', llm_calls: calls })).status, 201)
  })

  t.test('refuses bodies that are too large or too deep', async (t) => {
    const large = { agent_name: 'a', metadata: { text: 'x'.repeat(10 << 20) } }
    t.match(await client.post('/traces', large), {
      status: 413,
      body: { code: 'payload_too_large' },
    })
    const deep = JSON.parse(
      `{"agent_name":"a","metadata":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`,
    )
    t.equal((await client.post('/traces', deep)).status, 422)
    const nested = JSON.parse(
      `{"agent_name":"a","metadata":${'{"a":'.repeat(50)}1${'}'.repeat(50)}}`,
    )
    t.equal((await client.post('/traces', nested)).status, 201)
  })

  t.test('writes to the project that is named, else to the key’s own', async (t) => {
    const named = await client.post('/traces', { trace_id: 'p', agent_name: 'a', project: 'new' })
    t.equal(named.status, 201)
    t.equal(
      (await client.post('/traces?project=newer', { trace_id: 'p', agent_name: 'a' })).status,
      201,
    )
    t.equal((await client.get('/traces/p')).status, 400, 'two projects have the id')
    t.equal((await client.get('/traces/p?project=new')).body.project, 'new')
    t.equal((await client.post('/traces', { trace_id: 'p', agent_name: 'a' })).status, 201)
    t.equal(
      (await client.get('/traces/p')).body.project,
      'default',
      'the default project goes first',
    )

    const { body } = await client.get('/traces/p?project=newer')
    const key = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: org.workspaceId,
      project_id: body.project_id,
    })
    const scoped = service.client(key.raw)
    t.equal((await scoped.post('/traces', { trace_id: 'mine', agent_name: 'a' })).status, 201)
    t.equal((await scoped.get('/traces/mine')).body.project, 'newer')
    t.equal(
      (await scoped.get('/traces/twice')).status,
      404,
      'traces of other projects are not there',
    )
    t.equal((await scoped.post('/traces', { agent_name: 'a', project: 'new' })).status, 403)
  })

  t.test('keeps organizations apart that use the same ids', async (t) => {
    const other = service.client((await service.makeOrganization()).key)
    t.equal((await other.get('/traces/twice')).status, 404)
    t.match(await other.post('/traces', { trace_id: 'twice', agent_name: 'theirs' }), {
      status: 201,
      body: { created: true },
    })
    t.equal((await client.get('/traces/twice')).body.agent_name, 'first')
  })

  async function count() {
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from traces where org_id = ${org.orgId}`
    return row?.n as number
  }
})

t.test('a trace beyond the quota is 402, and none within it', async (t) => {
  const service = await openService(t, { env: { QUOTA_TRACES_INGESTED: '5,10,100,1000' } })
  const org = await service.makeOrganization('free')
  await service.sql`delete from rate_buckets`
  const client = service.client(org.key)
  const send = (n: number) =>
    client.post(
      '/traces/batch',
      Array.from({ length: n }, (_, i) => ({ agent_name: 'a', id: `t${i}` })),
    )
  t.match(await send(3), { status: 200, body: { count: 3 } })
  const over = await send(8)
  t.match(over, { status: 200, body: { count: 2, skipped: 3 } })
  t.same(
    over.body.errors.map(({ index, code }: { index: number; code: string }) => [index, code]),
    [
      [5, 'quota_exceeded'],
      [6, 'quota_exceeded'],
      [7, 'quota_exceeded'],
    ],
  )
  t.equal(over.headers['x-quota-exceeded'], 'traces_ingested')
  t.match(await client.post('/traces', { agent_name: 'a' }), {
    status: 402,
    body: { code: 'quota_exceeded' },
    headers: { 'x-quota-exceeded': 'traces_ingested' },
  })
  t.equal((await client.post('/traces', { id: 't1', agent_name: 'a' })).status, 200, 'not counted')
})
