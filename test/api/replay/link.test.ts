import t from 'tap'
import { registeredAgent } from '../../support/registered-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('POST /replay/link', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** An agent with traces of these scores, which nobody has judged yet. */
  async function recorded(scores: Readonly<Record<string, number>>) {
    const agent = await registeredAgent(service)
    for (const [trace_id, helpful] of Object.entries(scores)) {
      await agent.client.post('/traces', runOf({ trace_id, scores: { helpful } }))
    }
    const link = (original: string, replay: string, more: object = {}, client = agent.client) =>
      client.post('/replay/link', {
        original_trace_id: original,
        replayed_trace_id: replay,
        ...more,
      })
    return { ...agent, link }
  }
  const count = async (orgId: string) => {
    const [row] = await sql`
      select count(*)::int as tasks, count(distinct batch_id)::int as batches from replay_tasks
      where org_id = ${orgId}`
    return row
  }

  t.test('a pair is marked, judged, compared and kept as a completed task', async (t) => {
    const { client, link } = await recorded({ before: 0.5, after: 0.9 })
    const { status, body } = await link('before', 'after')
    t.equal(status, 200)
    t.match(body, { eval_verdict: 'pass' })
    t.match((await client.get(`/replay/tasks/${body.task_id}`)).body, {
      batch_id: body.batch_id,
      status: 'completed',
      trace_id: 'before',
      replayed_trace_id: 'after',
      replayability: 'full',
      attempt: 0,
      eval_score: body.eval_score,
      comparison: { outcome: 'win', basis: 'common_scores', score_delta: 0.4 },
    })
    t.match((await client.get('/traces/after')).body, {
      source_type: 'replayed',
      parent_trace_id: 'before',
      metadata: {
        original_trace_id: 'before',
        replay: { batch_id: body.batch_id, task_id: body.task_id, attempt: 0 },
      },
      eval_score: body.eval_score,
    })
    t.match((await client.get(`/replay/batches/${body.batch_id}`)).body, {
      status: 'completed',
      note: 'linked',
      target_manifest_id: null,
      wins: 1,
    })
    const claim = await client.post('/replay/tasks/claim', { worker_id: 'w' })
    t.same(claim.body.tasks, [])
  })

  t.test('a long answer is the same one, however the two runs recorded it', async (t) => {
    const { client, link } = await recorded({})
    const [asked, answer] = [{ role: 'user', content: 'hello' }, 'All of it. '.repeat(1000)]
    const told = [asked, { role: 'assistant', content: answer }]
    const before = [{ rendered_input: told }]
    await client.post('/traces', runOf({ trace_id: 'before', llm_calls: before }))
    const after = [{ rendered_input: [asked], output: { content: answer } }]
    await client.post('/traces', runOf({ trace_id: 'after', llm_calls: after }))
    const { body } = await link('before', 'after')
    const task = await client.get(`/replay/tasks/${body.task_id}`)
    t.equal(task.body.comparison.final_output_changed, false)
    t.equal(task.body.task_input.original_output, answer)
  })

  t.test('the pairs of an agent are in one batch', async (t) => {
    const { orgId, link } = await recorded({ a: 0.5, b: 0.5, c: 0.5 })
    const first = await link('a', 'b')
    const second = await link('a', 'c')
    t.equal(second.body.batch_id, first.body.batch_id)
    t.same(await count(orgId), { tasks: 2, batches: 1 })
  })

  t.test('a trace is the replay of one original', async (t) => {
    const { client, orgId, link } = await recorded({ a: 0.5, b: 0.5, c: 0.9 })
    await link('a', 'c')
    t.match(await link('b', 'c'), {
      status: 400,
      body: { detail: 'The trace is marked as the replay of another one: a' },
    })
    t.same(await count(orgId), { tasks: 1, batches: 1 })
    t.match((await client.get('/traces/c')).body, { parent_trace_id: 'a', revision: 1 })
  })

  t.test('a trace that its client calls a replay is marked as one all the same', async (t) => {
    const { client, link } = await recorded({ a: 0.5 })
    for (const [trace_id, marks] of [
      ['named', { metadata: { replay: 'mine', own: 1 } }],
      ['shaped', { metadata: { replay: { batch_id: 1 }, own: 1 }, parent_trace_id: 'a' }],
      [
        'parted',
        { metadata: { replay: { batch_id: 'b', task_id: 't' }, original_trace_id: 'a', own: 1 } },
      ],
    ] as const) {
      await client.post('/traces', runOf({ trace_id, source_type: 'replayed', ...marks }))
      const { body } = await link('a', trace_id)
      t.match((await client.get(`/traces/${trace_id}`)).body, {
        parent_trace_id: 'a',
        metadata: { own: 1, original_trace_id: 'a', replay: { task_id: body.task_id } },
      })
    }
  })

  t.test('the same pair answers as before, at once too', async (t) => {
    const { orgId, link } = await recorded({ a: 0.5, b: 0.9 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => link('a', 'b')))
    t.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1)
    t.same((await link('a', 'b')).body, answers[0]?.body)
    t.same(await count(orgId), { tasks: 1, batches: 1 })
  })

  t.test('of pairs linked at once each replay keeps one original', async (t) => {
    const { orgId, link } = await recorded({ a: 0.5, b: 0.9, c: 0.1 })
    const pairs = ['ab', 'ba', 'ac', 'ca', 'bc', 'cb']
    const answers = await Promise.all(pairs.map(([one = '', other = '']) => link(one, other)))
    const taken = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 400)
    t.same([taken.length, refused.length], [3, 3])
    t.same(await count(orgId), { tasks: 3, batches: 1 })
  })

  t.test('refuses what is no pair, and leaves nothing behind', async (t) => {
    const { client, orgId, workspaceId, link } = await recorded({ a: 0.5, b: 0.9 })
    await client.post('/traces', runOf({ trace_id: 'other', agent_name: 'other' }))
    await client.post('/traces', runOf({ trace_id: 'runs', status: 'running' }))
    await client.post('/projects', { name: 'second', workspace_id: workspaceId })
    await client.post('/traces', runOf({ trace_id: 'elsewhere', project: 'second' }))
    for (const [original, replay, status] of [
      ['a', 'a', 400],
      ['a', 'other', 400],
      ['a', 'runs', 400],
      ['runs', 'a', 400],
      ['a', 'unknown', 404],
      ['unknown', 'a', 404],
      ['a', 'elsewhere', 404],
    ] as const) {
      t.equal((await link(original, replay)).status, status, `${original} ${replay}`)
    }
    const [batches] = await sql`
      select count(*)::int as n from replay_batches where org_id = ${orgId}`
    t.equal(batches?.['n'], 0)
    t.match((await client.get('/traces/b')).body, { source_type: 'production' })
    t.equal((await client.post('/replay/link', { original_trace_id: 'a' })).status, 422)
  })

  t.test('reaches no other organization or project', async (t) => {
    const { orgId, workspaceId, client, link } = await recorded({ a: 0.5, b: 0.9 })
    const stranger = service.client((await service.makeOrganization()).key)
    t.equal((await link('a', 'b', {}, stranger)).status, 404)
    const { body } = await client.post('/projects', { name: 'apart', workspace_id: workspaceId })
    const key = await makeTestKey(sql, orgId, {
      scope: 'project',
      permissions: 'write',
      project_id: body.id,
    })
    t.equal((await link('a', 'b', {}, service.client(key.raw))).status, 404)
    t.equal((await link('a', 'b', { project: 'default' })).status, 200)
  })
})

function runOf(more: object) {
  const call = {
    rendered_input: [{ role: 'user', content: 'hello' }],
    output: { role: 'assistant', content: 'done' },
  }
  return { agent_name: 'agent', llm_calls: [call], ...more }
}
