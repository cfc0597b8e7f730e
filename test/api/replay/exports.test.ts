import { hash } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { makeAgent, openAgentService } from '../../support/agents.ts'
import { tool } from '../../support/manifests.ts'
import { makeTestKey } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

interface Prompt {
  trace_id: string
  user_input: string
  original_output: string
}

t.test('exports of replay', async (t) => {
  const service = await openAgentService(t)

  /** An organization with traces that were judged `replay` unless told otherwise, the last one the newest. */
  async function judged(
    t: Test,
    traces: readonly { trace_id: string; [member: string]: unknown }[],
  ) {
    const org = await service.makeOrganization()
    await storeJudged(
      service.sql,
      org,
      traces.map((trace, i) => ({
        started_at: new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString(),
        verdict: 'replay',
        ...trace,
      })),
    )
    const { get } = service.client(org.key)
    async function lines(path: string) {
      const { headers, body } = await get(path)
      t.equal(headers['content-type'], 'application/x-ndjson')
      return (body as string)
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown)
    }
    const prompts = async (query = '') =>
      (await get(`/replay/export${query}`)).body.prompts as Prompt[]
    const ids = async (query = '') => (await prompts(query)).map(({ trace_id }) => trace_id)
    return { org, get, lines, prompts, ids }
  }

  t.test('list the traces of a verdict, newest first', async (t) => {
    const { ids, org, get } = await judged(t, [
      { trace_id: 'a' },
      { trace_id: 'b', agent_name: 'other' },
      { trace_id: 'c', verdict: 'keep' },
      { trace_id: 'd' },
      { trace_id: 'e', verdict: null },
    ])
    t.same(await ids(), ['d', 'b', 'a'])
    t.same(await ids('?limit=2'), ['d', 'b'])
    t.same(await ids('?agent_name=other'), ['b'])
    t.same(await ids('?verdict=keep'), ['c'])
    t.same(await ids('?verdict=drop'), [])
    t.same(await ids('?project=default'), ['d', 'b', 'a'])
    t.equal((await get('/replay/export?limit=5001')).status, 422)
    t.equal((await get('/replay/export?project=unknown')).status, 404)
    t.same(
      (await get('/replay/export?agent_name=other')).body.prompts,
      [
        {
          trace_id: 'b',
          project_id: org.projectId,
          user_input: 'you',
          original_output: 'Hello, you',
          verdict: 'replay',
          agent_name: 'other',
          manifest_id: null,
          session_id: null,
          created_at: (await get('/traces/b')).body.created_at,
          replay_context: { changed_surfaces: [] },
        },
      ],
      'with these members',
    )
  })

  t.test('show nothing of other organizations and projects', async (t) => {
    const session = { session_id: 's' }
    const { org } = await judged(t, [{ trace_id: 'secret', ...session }])
    const other = await judged(t, [{ trace_id: 'mine', ...session }])
    t.same(await other.ids(), ['mine'])
    const { client } = service
    const owner = client(org.key)
    const { body } = await owner.post('/projects', {
      name: 'beside',
      workspace_id: org.workspaceId,
    })
    const beside = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'read',
      project_id: body.id,
    })
    const colleague = client(beside.raw)
    t.same((await colleague.get('/replay/export')).body, { prompts: [] })
    t.same((await colleague.get('/replay/export/sessions')).body, { sessions: [] })
    t.equal((await colleague.get(`/replay/export?project=${org.projectId}`)).status, 403)
    const [shown] = (await other.get('/replay/export/sessions')).body.sessions
    t.match(shown, { total_turns: 1, turns: [{ trace_id: 'mine' }] })
  })

  t.test('give texts in full, however many and long they are', async (t) => {
    const said = (i: number) => `question ${i} ${'x'.repeat(i % 50 === 0 ? 300_000 : 2000)}`
    const { prompts, lines } = await judged(
      t,
      Array.from({ length: 230 }, (_, i) => ({
        trace_id: `t${i}`,
        messages: [
          { role: 'user', content: said(i) },
          { role: 'assistant', content: `answer ${said(i)}` },
        ],
      })),
    )
    // Compared by digest: a difference of such texts could not be read.
    const digest = ({ trace_id, user_input, original_output }: Prompt) =>
      `${trace_id} ${hash('sha256', user_input)} ${hash('sha256', original_output)}`
    const expected = Array.from({ length: 230 }, (_, i) => ({
      trace_id: `t${229 - i}`,
      user_input: said(229 - i),
      original_output: `answer ${said(229 - i)}`,
    })).map(digest)
    t.same((await prompts()).map(digest), expected)
    t.same(((await lines('/replay/export?format=jsonl')) as Prompt[]).map(digest), expected)
  })

  t.test('give whole sessions in which a trace has the verdict', async (t) => {
    const turn = (trace_id: string, session_id: string, more: object) => ({
      trace_id,
      session_id,
      ...more,
    })
    const { get, lines } = await judged(t, [
      turn('late', 'first', { turn_index: null, verdict: 'keep' }),
      turn('two', 'first', { turn_index: 1, agent_name: 'other' }),
      turn('one', 'first', { turn_index: 0, verdict: 'keep' }),
      turn('later', 'first', { turn_index: null }),
      turn('fine', 'second', { verdict: 'keep' }),
      turn('only', 'third', { verdict: null, agent_name: 'other' }),
      turn('asked', 'third', { agent_name: 'other' }),
      { trace_id: 'alone' },
    ])
    const { sessions } = (await get('/replay/export/sessions')).body
    const shown = sessions.map((session: Session) => [
      session.session_id,
      session.agent_name,
      session.turns.map((each) => `${each.trace_id}${each.is_trigger ? '!' : ''}`),
    ])
    t.same(shown, [
      ['third', 'other', ['only', 'asked!']],
      ['first', 'agent', ['one', 'two!', 'late', 'later!']],
    ])
    t.match(sessions[1], {
      total_turns: 4,
      turns_truncated: false,
      trigger_count: 2,
      verdict: 'replay',
      turns: [
        {
          turn_index: 0,
          trace_id: 'one',
          agent_name: 'agent',
          user_input: 'you',
          original_output: 'Hello, you',
          verdict: 'keep',
          is_trigger: false,
        },
        { turn_index: 1 },
        { turn_index: null },
        { turn_index: null },
      ],
    })
    t.same(await lines('/replay/export/sessions?format=jsonl'), sessions)
    const [newest, ...others] = (await get('/replay/export/sessions?limit=1')).body.sessions
    t.equal(newest.session_id, 'third')
    t.same(others, [])
    const ofAgent = (await get('/replay/export/sessions?agent_name=agent')).body.sessions
    t.match(ofAgent, [
      { session_id: 'first', agent_name: 'agent', total_turns: 4, trigger_count: 1 },
    ])
    t.equal(ofAgent.length, 1)
    t.equal((await get('/replay/export/sessions?limit=501')).status, 422)
  })

  t.test('find a session behind traces that are of none, or of one', async (t) => {
    const traces = (count: number, name: string, more: object) =>
      Array.from({ length: count }, (_, i) => ({ trace_id: `${name}${i}`, ...more }))
    const { get } = await judged(t, [
      { trace_id: 'oldest', session_id: 'old' },
      ...traces(30, 'turn', { session_id: 'long' }),
      ...traces(30, 'alone', {}),
    ])
    for (const limit of [1, 2, 3]) {
      const { sessions } = (await get(`/replay/export/sessions?limit=${limit}`)).body
      t.same(
        sessions.map((session: Session) => session.session_id),
        ['long', 'old'].slice(0, limit),
      )
    }
  })

  t.test('give each of many sessions its own turns', async (t) => {
    const traces = Array.from({ length: 50 }, (_, i) => ({
      trace_id: `t${i}`,
      session_id: `s${i % 25}`,
    }))
    const { get } = await judged(t, traces)
    const { sessions } = (await get('/replay/export/sessions')).body
    const turnsOf = (session: Session) => session.turns.map(({ trace_id }) => trace_id).sort()
    t.same(
      new Map(sessions.map((session: Session) => [session.session_id, turnsOf(session)])),
      new Map(Array.from({ length: 25 }, (_, i) => [`s${i}`, [`t${i}`, `t${i + 25}`].sort()])),
    )
  })

  t.test('show the beginning of a session of very many turns', async (t) => {
    const { get, org } = await judged(t, [{ trace_id: 'first', session_id: 's', turn_index: 0 }])
    await service.sql`
      insert into trace_ids
      select org_id, project_id, 't' || i, period from traces, generate_series(1, 5000) i
      where trace_id = 'first' and org_id = ${org.orgId}`
    await service.sql`
      insert into traces
      select copy.* from traces t, generate_series(1, 5000) i,
        lateral json_populate_record(t, json_build_object('trace_id', 't' || i, 'turn_index', i)) copy
      where t.trace_id = 'first' and t.org_id = ${org.orgId}`
    const [session] = (await get('/replay/export/sessions')).body.sessions
    t.equal(session.turns.length, 5000)
    t.match(session.turns.at(-1), { turn_index: 4999, user_input: 'you', verdict: null })
    const { turns: _, ...rest } = session
    t.match(rest, { total_turns: 5001, turns_truncated: true, trigger_count: 1 })
  })

  t.test('name what changed since a trace was recorded', async (t) => {
    const { client, org, register, store, settled } = await makeAgent(service)
    const search = tool('search', { q: { type: 'string' } })
    const { manifest_id } = await register([search, tool('refund', { id: { type: 'string' } })])
    const traceId = await store([['refund', { id: '1' }, 'done']], { manifest_id })
    await settled()
    await register([search])
    await settled()
    t.same((await client.get('/replay/export')).body, {
      prompts: [
        {
          trace_id: traceId,
          project_id: org.projectId,
          user_input: (await client.get(`/traces/${traceId}`)).body.user_input_preview,
          original_output: 'done',
          verdict: 'replay',
          agent_name: 'support',
          manifest_id,
          session_id: null,
          created_at: (await client.get(`/traces/${traceId}`)).body.created_at,
          replay_context: { changed_surfaces: [{ name: 'refund', reason: 'tool_missing' }] },
        },
      ],
    })
  })
})

interface Session {
  session_id: string
  agent_name: string
  turns: { trace_id: string; is_trigger: boolean }[]
}
