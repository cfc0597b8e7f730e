import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { readTrace } from '../../../jobs/rules/traces/read-trace.ts'
import type { ContentForm } from '../../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import type { TraceKey } from '../../../sql/traces/traces.ts'
import { reviseTrace } from '../../../sql/transactions/revise-trace.ts'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'
import { recomputeCells } from '../../support/score-cells.ts'
import { traceState } from '../../support/trace-state.ts'

/** What the trace says before and after. */
const FORMS = {
  running: {
    agent_name: 'support',
    manifest: 'v1',
    status: 'running',
    started_at: '2026-03-01T10:00:00Z',
    llm_calls: calling('one', ['search', {}]),
  },
  broken: {
    agent_name: 'support',
    manifest: 'v1',
    started_at: '2026-03-01T10:00:00Z',
    spans: [
      { id: 's', span_type: 'handoff', name: 'billing', attributes: { to_agent: 'billing' } },
    ],
    llm_calls: calling('one', ['search', {}], ['rm', {}]),
  },
  fitting: {
    agent_name: 'support',
    manifest: 'v2',
    started_at: '2026-03-01T10:00:00Z',
    parent_trace_id: 'parent',
    llm_calls: calling('two', ['search', { q: 'x', limit: 3 }]),
  },
  oldest: {
    agent_name: 'support',
    manifest: 'v1',
    started_at: '2026-03-01T08:00:00Z',
    llm_calls: calling('one', ['search', { q: 'x' }]),
  },
  renamed: {
    agent_name: 'helper',
    manifest: 'h1',
    status: 'error',
    error_message: 'timeout in the warehouse',
    started_at: '2026-03-05T10:00:00Z',
    session_id: 'session',
    task_id: 'task',
    llm_calls: [...calling('one'), ...calling('one')],
  },
  later: {
    agent_name: 'support',
    started_at: '2026-03-05T10:00:00Z',
    llm_calls: calling('one', ['search', { q: 'x' }]),
  },
  unnamed: {
    agent_name: 'support',
    manifest_hash: 'f'.repeat(64),
    started_at: '2026-03-01T10:00:00Z',
    metadata: { consent: false },
    tags: ['a', 'b"\\'],
    active_skills: [{ name: 'skill', hash: 'x' }],
  },
  drafted: {
    agent_name: 'helper',
    manifest: 'h2',
    started_at: '2026-03-01T10:00:00Z',
    llm_calls: calling('three', ['search', { q: 'x' }], ['send', {}]),
  },
}
/** What one trace says after the other. The draft comes last: it stays active once it ran. */
const TOURS: readonly (readonly [Form, ...Form[]])[] = [
  ['running', 'broken', 'fitting', 'renamed', 'oldest', 'unnamed', 'drafted'],
  ['unnamed', 'oldest', 'renamed', 'fitting', 'later', 'running', 'drafted'],
  ['renamed', 'oldest', 'running', 'broken', 'renamed', 'unnamed', 'fitting'],
]
/** Its child; which agent gave it work is known once both are there. */
const CHILD = {
  agent_name: 'sub',
  trace_id: 'child',
  parent_trace_id: 't',
  started_at: '2026-03-01T12:00:00Z',
  llm_calls: calling('child'),
}
/** Copies older and younger than the trace, and its parent. */
const OTHERS = [
  { agent_name: 'boss', trace_id: 'parent', started_at: '2026-03-01T07:00:00Z' },
  ...[9, 11].map((hour) => ({
    agent_name: 'support',
    manifest: 'v1',
    trace_id: `one at ${hour}`,
    started_at: `2026-03-01T${hour < 10 ? `0${hour}` : hour}:00:00Z`,
    llm_calls: calling('one', ['search', { q: 'x' }]),
  })),
  {
    agent_name: 'support',
    trace_id: 'two',
    started_at: '2026-03-01T11:00:00Z',
    llm_calls: calling('two', ['search', { q: 'x', limit: 3 }]),
  },
]

const service = await openAgentService(t)
const { sql, context } = service

t.test('a revised trace leaves what one leaves that was stored so', async (t) => {
  const forms = Object.keys(FORMS) as Form[]
  const direct = new Map(
    await Promise.all(
      forms.map(async (form) => {
        const agent = await makeScene()
        await agent.store(form)
        return [form, await agent.state()] as const
      }),
    ),
  )
  await Promise.all(
    TOURS.map(async ([first, ...further]) => {
      const agent = await makeScene()
      await agent.store(first)
      for (const form of further) {
        await agent.state()
        await agent.revise(form)
        t.same(await agent.state(), direct.get(form), `${form}, on the tour from ${first}`)
      }
    }),
  )
})

type Form = keyof typeof FORMS

/** An organization with two agents, their versions, checks and traces around the one that is revised. */
async function makeScene() {
  const agent = await makeAgent(service)
  const { client, org, settled } = agent
  const labels: Record<string, string> = {}
  const register = async (label: string, agent_name: string, body: object) => {
    const { body: made } = await client.post('/manifests', { agent_name, ...body })
    labels[made.manifest_id as string] = label
    return made.manifest_id as string
  }
  const q = { q: { type: 'string' } }
  const search = toolComponent('search', q, ['q'])
  const manifests: Record<string, string> = {
    v1: await register('v1', 'support', { components: [search], is_closed_world: true }),
    v2: await register('v2', 'support', {
      components: [toolComponent('search', { ...q, limit: { type: 'integer' } }, ['q', 'limit'])],
      activate: true,
    }),
    h1: await register('h1', 'helper', { components: [search] }),
    h2: await register('h2', 'helper', { components: [search, toolComponent('send')] }),
  }
  for (const [name, agent_name] of [
    ['short', 'support'],
    ['terse', 'helper'],
  ]) {
    const check = { name, agent_name, type: 'max_steps', config: { steps: 1 } }
    t.equal((await client.post('/evaluators', check)).status, 201)
  }
  const bodyOf = (form: object) => {
    const { manifest, ...body } = form as { manifest?: string }
    return { trace_id: 't', ...body, ...(manifest && { manifest_id: manifests[manifest] }) }
  }
  const others = OTHERS.map(bodyOf)
  t.match(await client.post('/traces/batch', others), { body: { count: others.length } })
  await settled()

  return {
    ...agent,
    async store(form: Form) {
      t.match(await client.post('/traces', bodyOf(FORMS[form])), {
        status: 201,
        body: { warnings: [] },
      })
      await client.post('/traces', CHILD)
      const scores = [{ name: 'reward', score: 0.9 }]
      await client.post('/traces/t/eval-scores', { source: 'custom', scores })
      await client.post('/traces/t/annotations', { notes: 'seen', flagged_for_review: true })
      await settled()
    },
    async revise(form: Form) {
      const key = { org_id: org.orgId, project_id: org.projectId, trace_id: 't' }
      await repair(key, manifests['v2'] as string)
      await context.queue.transaction(sql, (tx: Transaction) =>
        reviseTrace(tx, context.queue, key, () => rowOf(bodyOf(FORMS[form]), context.contentForm)),
      )
      await settled()
    },
    async state() {
      await recomputeCells(sql, org)
      return traceState(sql, org.orgId, labels)
    },
  }
}

/** Stores a repaired content of a trace. */
async function repair({ org_id, project_id, trace_id }: TraceKey, target: string) {
  const [id, job] = [randomUUIDv7(), randomUUIDv7()]
  await sql`
    insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id, new_manifest_id,
      rules, engine_version)
    values (${org_id}, ${project_id}, ${id}, ${job}, ${target}, ${target}, '[]', '1')`
  await sql`
    insert into trace_revisions (org_id, project_id, trace_id, target_manifest_id, batch_id,
      trace_revision, rules, content, content_hash, tools_called)
    values (${org_id}, ${project_id}, ${trace_id}, ${target}, ${id}, 0, '{}', '', '', '{}')`
}

function rowOf(body: object, form: ContentForm) {
  const read = readTrace(body, { traceId: () => '', now: new Date(0) })
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return toTraceRow(read.trace, form)
}

function calling(asked: string, ...tools: (readonly [string, object])[]) {
  const tool_calls = tools.map(([tool_name, args]) => ({ tool_name, args, result: 'found' }))
  const rendered_input = [{ role: 'user', content: asked }]
  return [{ model_name: 'm', rendered_input, output: { content: `${asked}: done` }, tool_calls }]
}
