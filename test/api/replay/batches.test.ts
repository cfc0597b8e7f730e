import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { prepareReplayHandler } from '../../../workers/replay/prepare-replay.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { makeReplayAgent } from '../../support/replay-agent.ts'

const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
await service.startWorkers([prepareReplayHandler])
const { sql } = service

t.test('a batch has a task for each trace, in the order named, each once', async (t) => {
  const { client, target, store } = await makeReplayAgent(service)
  const full = await store()
  const partial = await store({ tool_calls: [{ tool_name: 'search', args: {} }] })
  const none = await store({}, { metadata: { replayable: false } })
  const { status, body } = await client.post('/replay/batches', {
    target_manifest_id: target,
    trace_ids: [partial, full, partial, none, full],
    note: 'first',
  })
  t.equal(status, 201)
  t.match(body, {
    id: String,
    batch_id: body.id,
    status: 'pending',
    agent_name: 'agent',
    source_manifest_id: null,
    target_manifest_id: target,
    mode: 'pull',
    runner_url: null,
    max_in_flight: 8,
    note: 'first',
    total: 3,
    counts: { pending: 2, leased: 0, completed: 0, failed: 0, skipped: 1, canceled: 0 },
    wins: 0,
    mean_score_delta: null,
    job_id: String,
    canceled_at: null,
  })
  t.equal(Date.parse(body.expires_at) - Date.parse(body.created_at), 30 * 86_400_000)
  t.match(body.tasks, [
    { trace_id: partial, status: 'pending', replayability: 'partial', attempt: 0, reason: null },
    { trace_id: full, status: 'pending', replayability: 'full' },
    { trace_id: none, status: 'skipped', replayability: 'none', reason: 'not_replayable' },
  ])
  const { job_id: _, ...shown } = body
  t.match((await client.get(`/replay/batches/${body.id}`)).body, shown)
})

t.test('filters choose as those of builds do, the newest first', async (t) => {
  const { client, target, source, store } = await makeReplayAgent(service)
  const old = await store({}, { started_at: '2026-01-01T00:00:00Z' })
  const newer = await store({}, { started_at: '2026-01-03T00:00:00Z', manifest_id: source })
  const newest = await store({}, { started_at: '2026-01-04T00:00:00Z', tags: ['vip'] })
  await store({}, { agent_name: 'other', started_at: '2026-01-05T00:00:00Z' })
  const chosenBy = async (filters: object, more: object = {}) => {
    const body = { target_manifest_id: target, filters, ...more }
    const answer = await client.post('/replay/batches', body)
    return answer.body.tasks.map((task: { trace_id: string }) => task.trace_id)
  }
  t.same(await chosenBy({}), [newest, newer, old])
  t.same(await chosenBy({ max_rows: 2 }), [newest, newer])
  t.same(await chosenBy({ tags: ['vip'] }), [newest])
  t.same(await chosenBy({ until: '2026-01-03T00:00:00Z' }), [old])
  t.same(await chosenBy({ verdicts: ['drop'] }), [])
  t.same(await chosenBy({}, { source_manifest_id: source }), [newer])
})

t.test('of named traces those of another version than the source are skipped', async (t) => {
  const { client, target, source, store } = await makeReplayAgent(service)
  const trace_ids = [await store({}, { manifest_id: source }), await store()]
  const body = { target_manifest_id: target, source_manifest_id: source, trace_ids }
  t.match((await client.post('/replay/batches', body)).body.tasks, [
    { status: 'pending', reason: null },
    { status: 'skipped', reason: 'other_manifest', replayability: 'full' },
  ])
})

t.test('a batch without traces is completed at once', async (t) => {
  const { client, target } = await makeReplayAgent(service)
  const { status, body } = await client.post('/replay/batches', {
    target_manifest_id: target,
    filters: {},
  })
  t.equal(status, 201)
  t.match(body, { status: 'completed', total: 0, tasks: [] })
})

t.test('a task shows what its runner is given, and no token of a lease', async (t) => {
  const { client, target, store } = await makeReplayAgent(service)
  const trace = await store({}, { session_id: 's1' })
  const { body } = await client.post('/replay/batches', {
    target_manifest_id: target,
    trace_ids: [trace],
  })
  const [{ id }] = body.tasks
  await sql`
    update replay_tasks set status = 'leased', lease_token = gen_random_uuid(), leased_by = 'w',
      leased_until = now() + interval '1 minute', attempt = 1 where id = ${id}`
  const shown = await client.get(`/replay/tasks/${id}`)
  t.match(shown.body, {
    id,
    batch_id: body.id,
    status: 'leased',
    attempt: 1,
    task_input: {
      user_input: String,
      agent_name: 'agent',
      session_id: 's1',
      target_manifest: { manifest_id: target, version_label: 'v2' },
    },
  })
  t.notMatch(JSON.stringify(shown.body), /lease_token/)
  t.match((await client.get(`/replay/batches/${body.id}`)).body, {
    status: 'running',
    counts: { pending: 0, leased: 1 },
  })
  await client.delete(`/traces/${trace}`)
  t.equal((await client.get(`/replay/tasks/${id}`)).body.task_input, null)
})

t.test('tasks are listed by status, page by page', async (t) => {
  const { client, target, store } = await makeReplayAgent(service)
  const trace_ids = []
  for (let i = 0; i < 5; i++) {
    trace_ids.push(await store({}, i === 2 ? { metadata: { replayable: false } } : {}))
  }
  const { body } = await client.post('/replay/batches', { target_manifest_id: target, trace_ids })
  const path = `/replay/batches/${body.id}/tasks?limit=2`
  const ids: string[] = []
  for (let cursor = ''; cursor !== null;) {
    const page = (await client.get(`${path}${cursor && `&cursor=${cursor}`}`)).body
    t.equal(page.total, 5)
    ids.push(...page.tasks.map((task: { trace_id: string }) => task.trace_id))
    cursor = page.next_cursor
  }
  t.same(ids, trace_ids)
  const skipped = (await client.get(`${path}&status=skipped`)).body
  t.match(skipped, { total: 1, next_cursor: null, tasks: [{ trace_id: trace_ids[2] }] })
})

t.test('batches are listed newest first, by agent and status', async (t) => {
  const { client, target, store, projectId } = await makeReplayAgent(service)
  const trace_ids = [await store()]
  const make = async () =>
    (await client.post('/replay/batches', { target_manifest_id: target, trace_ids })).body.id
  const [pending, running, completed, canceled] = [
    await make(),
    await make(),
    await make(),
    await make(),
  ]
  await sql`
    update replay_tasks set status = 'leased', lease_token = gen_random_uuid(), attempt = 1,
      leased_until = now() where batch_id = ${running}`
  await sql`
    update replay_tasks set status = 'completed', ended_at = now(),
      comparison = ${'{"outcome": "win", "score_delta": 0.25}'}::text::jsonb where batch_id = ${completed}`
  await client.post(`/replay/batches/${canceled}/cancel`)
  const listed = async (query: string) => {
    const { body } = await client.get(`/replay/batches?${query}`)
    const ids = body.batches.map((batch: { id: string }) => batch.id)
    t.equal(body.total, ids.length)
    return ids
  }
  t.same(await listed('agent_name=agent'), [canceled, completed, running, pending])
  t.same(await listed('agent_name=other'), [])
  t.same(await listed('status=pending'), [pending])
  t.same(await listed('status=running'), [running])
  t.same(await listed('status=canceled'), [canceled])
  t.same(await listed(`status=completed&project=${projectId}`), [completed])
  t.match((await client.get(`/replay/batches/${completed}`)).body, {
    status: 'completed',
    wins: 1,
    losses: 0,
    mean_score_delta: 0.25,
  })
})

t.test(
  'canceling ends open tasks and their leases, and changes nothing that has ended',
  async (t) => {
    const { client, target, store } = await makeReplayAgent(service)
    const trace_ids = [await store(), await store(), await store()]
    const { body } = await client.post('/replay/batches', { target_manifest_id: target, trace_ids })
    const [done, held] = body.tasks
    await sql`
    update replay_tasks set status = 'completed', ended_at = now() where id = ${done.id}`
    await sql`
    update replay_tasks set status = 'leased', lease_token = gen_random_uuid(),
      leased_until = now() where id = ${held.id}`
    const canceled = await client.post(`/replay/batches/${body.id}/cancel`)
    t.equal(canceled.status, 200)
    t.match(canceled.body, {
      status: 'canceled',
      canceled_at: String,
      counts: { pending: 0, leased: 0, completed: 1, canceled: 2 },
      tasks: [
        { status: 'completed' },
        { status: 'canceled', ended_at: String },
        { status: 'canceled' },
      ],
    })
    t.same((await client.post(`/replay/batches/${body.id}/cancel`)).body, canceled.body)
  },
)

t.test('a completed batch can be neither canceled nor resumed', async (t) => {
  const { client, target } = await makeReplayAgent(service)
  const { body } = await client.post('/replay/batches', { target_manifest_id: target, filters: {} })
  t.equal((await client.post(`/replay/batches/${body.id}/cancel`)).status, 409)
  t.equal((await client.post(`/replay/batches/${body.id}/resume`)).status, 409)
})

t.test(
  'a push batch is sent from when its tasks are made, and again when it is resumed',
  async (t) => {
    const { client, target, store, orgId } = await makeReplayAgent(service)
    const { body } = await client.post('/replay/batches', {
      target_manifest_id: target,
      trace_ids: [await store()],
      mode: 'push',
      runner_url: 'http://127.0.0.1:9/run',
      max_in_flight: 2,
    })
    t.match(body, { mode: 'push', runner_url: 'http://127.0.0.1:9/run', max_in_flight: 2 })
    const dispatches = () => sql`
    select id from jobs where org_id = ${orgId} and kind = 'replay.dispatch' order by id`
    t.equal((await dispatches()).length, 1)
    t.equal((await client.post(`/replay/batches/${body.id}/resume`)).status, 409)
    await sql`update replay_batches set paused_reason = 'runner_failed' where id = ${body.id}`
    t.match((await client.get(`/replay/batches/${body.id}`)).body, {
      paused_reason: 'runner_failed',
    })
    const resume = () => client.post(`/replay/batches/${body.id}/resume`)
    const [resumed, late] = (await Promise.all([resume(), resume()])).sort(
      (a, b) => a.status - b.status,
    )
    t.match(resumed, { status: 200, body: { paused_reason: null } })
    t.match(late, { status: 409 }, 'of two at once, one does')
    t.equal((await dispatches()).length, 2)
  },
)

t.test('a request that contradicts itself or what is stored is refused', async (t) => {
  const { client, target, store, register } = await makeReplayAgent(service)
  const trace = await store()
  const foreign = await store({}, { agent_name: 'other' })
  const unrelated = await register([], 'other')
  const given = { target_manifest_id: target, trace_ids: [trace] }
  const unknown = randomUUIDv7()
  const push = { ...given, mode: 'push' }
  const refused: [number, object, RegExp][] = [
    [400, { target_manifest_id: target }, /Exactly one/],
    [400, { ...given, filters: {} }, /Exactly one/],
    [400, { ...given, trace_ids: [trace, foreign] }, /another agent/],
    [400, { target_manifest_id: target, filters: { agent_name: 'other' } }, /another agent/],
    [400, { ...given, source_manifest_id: unrelated }, /another agent or project than the target/],
    [400, { ...given, runner_url: 'https://example.com' }, /mode push/],
    [400, push, /needs runner_url/],
    [400, { ...push, runner_url: 'https://10.0.0.1/run' }, /may not be reached/],
    [400, { ...push, runner_url: 'http://192.0.2.1/run' }, /https/],
    [400, { ...push, runner_url: 'https://localhost./run' }, /may not be reached/],
    [422, { ...push, runner_url: 'not a url' }, /runner_url/],
    [422, { ...push, runner_url: 'https://u:p@example.com' }, /credentials/],
    [422, { ...push, runner_url: 'https://example.com/\ud800' }, /runner_url must be a valid URL/],
    [422, { ...given, trace_ids: [] }, /trace_ids/],
    [422, { ...given, trace_ids: Array(5001).fill('x') }, /trace_ids/],
    [422, { ...given, max_in_flight: 51 }, /max_in_flight/],
    [422, { trace_ids: [trace] }, /target_manifest_id/],
    [404, { ...given, target_manifest_id: unknown }, /Manifest not found/],
    [404, { ...given, target_manifest_id: 'none' }, /Manifest not found/],
    [404, { ...given, source_manifest_id: unknown }, /Manifest not found/],
    [404, { ...given, trace_ids: [trace, 'gone-1', 'gone-2'] }, /^Trace gone-1 not found$/],
    [404, { ...given, trace_ids: [''] }, /^Trace "" not found$/],
  ]
  for (const [status, body, says] of refused) {
    const answer = await client.post('/replay/batches', body)
    t.match(answer, { status, body: { detail: says } }, JSON.stringify(body).slice(0, 120))
  }
  t.match((await client.get('/replay/batches')).body, { batches: [], total: 0 })
})

t.test(
  'an organization has 20 open batches at most, however many requests come at once',
  async (t) => {
    const { client, target, store } = await makeReplayAgent(service)
    const trace_ids = [await store()]
    const body = { target_manifest_id: target, trace_ids }
    const statuses = await Promise.all(
      Array.from({ length: 24 }, async () => (await client.post('/replay/batches', body)).status),
    )
    t.equal(statuses.filter((status) => status === 201).length, 20)
    t.equal(statuses.filter((status) => status === 409).length, 4)
    const refused = await client.post('/replay/batches', body)
    t.match(refused, { status: 409, body: { code: 'too_many_batches' } })
    const [batch] = (await client.get('/replay/batches?limit=1')).body.batches
    await client.post(`/replay/batches/${batch.id}/cancel`)
    t.equal((await client.post('/replay/batches', body)).status, 201)
  },
)

t.test('batches and tasks of other projects and organizations do not exist', async (t) => {
  const { client, target, store, orgId, workspaceId } = await makeReplayAgent(service)
  const { body } = await client.post('/replay/batches', {
    target_manifest_id: target,
    trace_ids: [await store()],
  })
  const { id: project_id } = (
    await client.post('/projects', { name: 'apart', workspace_id: workspaceId })
  ).body
  const scope = {
    scope: 'project',
    permissions: 'admin',
    project_id,
    workspace_id: workspaceId,
  } as const
  const other = service.client((await makeTestKey(sql, orgId, scope)).raw)
  const stranger = service.client((await service.makeOrganization()).key)
  const [task] = body.tasks
  for (const one of [other, stranger]) {
    for (const id of [body.id, randomUUIDv7(), 'none']) {
      const path = `/replay/batches/${id}`
      const answers = await Promise.all([
        one.get(path),
        one.get(`${path}/tasks`),
        one.post(`${path}/cancel`),
        one.post(`${path}/resume`),
      ])
      for (const answer of answers) {
        t.match(answer, { status: 404, body: { detail: 'Replay batch not found' } })
      }
    }
    t.match(await one.get(`/replay/tasks/${task.id}`), {
      status: 404,
      body: { detail: 'Replay task not found' },
    })
    t.match((await one.get('/replay/batches')).body, { batches: [], total: 0 })
    const mine = { target_manifest_id: target, filters: {} }
    t.equal((await one.post('/replay/batches', mine)).status, 404)
  }
})

t.test('the same request under one idempotency key makes one batch', async (t) => {
  const { client, target, store } = await makeReplayAgent(service)
  const body = { target_manifest_id: target, trace_ids: [await store()] }
  const headers = { 'idempotency-key': 'k1' }
  const first = await client.post('/replay/batches', body, headers)
  const again = await client.post('/replay/batches', body, headers)
  t.equal(again.body.id, first.body.id)
  t.equal((await client.get('/replay/batches')).body.total, 1)
})
