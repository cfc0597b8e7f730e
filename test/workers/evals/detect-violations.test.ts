import t from 'tap'
import { createHash } from 'node:crypto'
import { detectViolations } from '../../../jobs/detect-violations.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'

const string = { type: 'string' }
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('detection in traces', async (t) => {
  const service = await openAgentService(t)
  const { sql } = service

  const rows = (orgId: string) => sql<{ trace_id: string; kind: string; subject: string }[]>`
    select trace_id, kind, subject from contract_violations
    where org_id = ${orgId} order by kind, subject, position`

  t.test('finds violations of the manifest a trace was recorded under', async (t) => {
    const { org, register, store, settled } = await makeAgent(service)
    const components = [toolComponent('search', { q: string }, ['q'])]
    const { manifest_id } = await register(components, { is_closed_world: true })
    const trace_id = await store(
      [
        ['search', {}],
        ['rm', {}],
      ],
      { manifest_id },
    )
    await store([['search', { q: 'x' }]], { manifest_id })
    await store([['rm', {}]])
    await settled()
    t.same(await rows(org.orgId), [
      { trace_id, kind: 'tool_args_invalid', subject: 'search' },
      { trace_id, kind: 'tool_undeclared', subject: 'rm' },
    ])
  })

  t.test('again finds the same rows, and keeps them', async (t) => {
    const { org, client, register, store, settled } = await makeAgent(service)
    const { manifest_id } = await register([toolComponent('a', { q: string }, ['q'])])
    const trace_id = await store([['a', {}]], { manifest_id })
    await settled()
    const ids = () =>
      sql`select id, detected_at from contract_violations where org_id = ${org.orgId}`
    const before = await ids()
    t.equal(before.length, 1)
    await sql`update trace_examinations set is_searched = false where trace_id = ${trace_id}`
    await client.post(`/traces/${trace_id}/eval-scores`, {
      source: 'human',
      scores: [{ name: 'ok', score: 1 }],
    })
    await settled()
    t.same(await ids(), before)
  })

  t.test('a trace that was given up is not opened again, and shown as such', async (t) => {
    const { org, client, register, store, settled } = await makeAgent(service)
    const { manifest_id } = await register([toolComponent('a', { q: string }, ['q'])])
    const trace_id = await store([['a', {}]], { manifest_id })
    await settled()
    await sql`
      update trace_examinations set given_up = true, is_searched = false
      where trace_id = ${trace_id}`
    await client.post(`/traces/${trace_id}/eval-scores`, {
      source: 'human',
      scores: [{ name: 'ok', score: 1 }],
    })
    await settled()
    const found = { trace_id, kind: 'trace_not_examinable', subject: 'trace' }
    t.same(await rows(org.orgId), [found])
    t.match(await sql`select given_up from trace_examinations where trace_id = ${trace_id}`, [
      { given_up: true },
    ])
  })

  t.test('how a trace fits is kept without the rules of its repair', async (t) => {
    const { org, register, store, settled } = await makeAgent(service)
    const { manifest_id } = await register([toolComponent('a', { q: string }, ['q'])])
    const usd = { ...string, default: 'usd' }
    await register([toolComponent('a', { q: string, currency: usd }, ['q', 'currency'])])
    const trace_id = await store([['a', { q: 'x' }]], { manifest_id })
    await settled()
    const [row] = await sql`
      select verdict, repair_rules from trace_examinations
      where org_id = ${org.orgId} and trace_id = ${trace_id}`
    t.same(row, { verdict: 'repair', repair_rules: [] })
  })

  t.test('a manifest nobody knows is a violation until it is registered', async (t) => {
    const { org, register, store, settled, decision } = await makeAgent(service)
    const manifest_hash = hashOf('unknown')
    const trace_id = await store([['a', {}]], { manifest_hash })
    const other = await store([], { manifest_id: '0197a1b2-0000-7000-8000-000000000000' })
    await store([], { metadata: { manifest_id: 'of another system' } })
    await settled()
    t.strictSame(
      new Set((await rows(org.orgId)).map((row) => row.trace_id)),
      new Set([trace_id, other]),
    )
    const { manifest_id } = await register([toolComponent('a', { q: string }, ['q'])], {
      manifest_hash,
    })
    await settled()
    t.match(await rows(org.orgId), [
      { trace_id: other, kind: 'manifest_unknown' },
      { trace_id, kind: 'tool_args_invalid' },
    ])
    t.match(await decision(trace_id), { target_manifest_id: manifest_id })
  })

  t.test('a trace that comes after the manifest it names by hash is tied to it', async (t) => {
    const { register, store, settled, client } = await makeAgent(service)
    const manifest_hash = hashOf('known').toUpperCase()
    const { manifest_id } = await register([toolComponent('a')], { manifest_hash })
    const trace_id = await store([['a', {}]], { manifest_hash: `sha256:${hashOf('known')}` })
    await settled()
    t.equal((await client.get(`/traces/${trace_id}`)).body.manifest_id, manifest_id)
  })

  t.test('traces that a process of an earlier release stored are tied', async (t) => {
    const { org, client, register, store, settled } = await makeAgent(service)
    const { manifest_id, manifest_hash } = await register([
      toolComponent('a', { q: string }, ['q']),
    ])
    const bare = manifest_hash.replace('sha256:', '')
    const unknown = '0197a1b2-0000-7000-8000-000000000000'
    const named = {
      prefixed: { manifest_hash },
      by_id: { manifest_id },
      free: { manifest_hash: 'sha256:free' },
      lost: { manifest_id: unknown },
    }
    for (const trace_id of Object.keys(named)) await store([['a', {}]], { trace_id })
    await settled()
    for (const [id, names] of Object.entries(named)) {
      await sql`update traces set ${sql(names)} where org_id = ${org.orgId} and trace_id = ${id}`
    }
    const { queue } = service.context
    const job = { project_id: org.projectId, trace_ids: Object.keys(named) }
    await queue.transaction(sql, (tx: Transaction) =>
      queue.enqueue(tx, detectViolations, job, { orgId: org.orgId }),
    )
    await settled()
    const shown = async (id: string) => (await client.get(`/traces/${id}`)).body
    for (const id of ['prefixed', 'by_id']) {
      t.match(await shown(id), { manifest_id, manifest_hash: bare }, id)
    }
    t.match(await shown('free'), { manifest_id: null, manifest_hash: 'free' })
    t.match(await shown('lost'), { manifest_id: null, metadata: { unknown_manifest_id: unknown } })
    t.same(
      new Set((await rows(org.orgId)).map(({ trace_id }) => trace_id)),
      new Set(Object.keys(named)),
    )
  })

  t.test('traces that come while their manifest is registered are all tied to it', async (t) => {
    const { org, register, store, settled } = await makeAgent(service)
    const manifest_hash = hashOf('racing')
    const storing = (count: number) =>
      Promise.all(Array.from({ length: count }, () => store([['a', {}]], { manifest_hash })))
    const [, , { manifest_id }] = await Promise.all([
      storing(20),
      storing(20).then(() => storing(20)),
      storing(5).then(() => register([toolComponent('a')], { manifest_hash })),
    ])
    await settled()
    const links = await sql`
      select manifest_id, count(*) as n from traces where org_id = ${org.orgId} group by manifest_id`
    t.same(links, [{ manifest_id, n: 65 }])
    t.same(await rows(org.orgId), [])
  })

  t.test('a broken output contract sends the trace to be run again', async (t) => {
    const { register, store, settled, decision } = await makeAgent(service)
    const contract = { type: 'output_contract', name: 'out', content: { format: 'json' } }
    const { manifest_id } = await register([contract])
    const answered = (content: string, more: object = {}) =>
      store([], {
        manifest_id,
        llm_calls: [
          { rendered_input: [{ role: 'user', content: `ask ${content}` }], output: { content } },
        ],
        ...more,
      })
    const good = await answered('{}')
    const broken = await answered('sorry')
    await settled()
    t.match(await decision(good), { verdict: 'keep' })
    t.match(await decision(broken), {
      verdict: 'replay',
      reasons: [{ code: 'contract.outcome', subject: 'final_output', rule: 7 }],
    })
  })

  t.test('edges between agents are kept, by parent traces in either order too', async (t) => {
    const { org, client, store, settled } = await makeAgent(service)
    const child = { agent_name: 'billing', parent_trace_id: 'parent' }
    await client.post('/traces', { trace_id: 'child-1', ...child })
    await settled()
    await store([], {
      trace_id: 'parent',
      spans: [{ span_type: 'handoff', name: 'handoff to research' }],
    })
    await settled()
    await client.post('/traces', { trace_id: 'child-2', ...child })
    await settled()
    const edges = await sql`
      select trace_id, parent, child, via from agent_edges
      where org_id = ${org.orgId} order by trace_id`
    t.same(edges, [
      { trace_id: 'child-1', parent: 'support', child: 'billing', via: 'parent_trace' },
      { trace_id: 'child-2', parent: 'support', child: 'billing', via: 'parent_trace' },
      { trace_id: 'parent', parent: 'support', child: 'research', via: 'handoff' },
    ])
    await client.delete('/traces/child-1')
    const left = await sql`select 1 from agent_edges where org_id = ${org.orgId}`
    t.equal(left.length, 2, 'they go with their trace')
  })

  t.test('a sub-agent under another manifest than the pinned one is told once', async (t) => {
    const { client, register, store, settled, org } = await makeAgent(service)
    await client.patch('/org/notifications', { webhook_url: 'https://hooks.example.com/x' })
    const pinned = `sha256:${hashOf('pinned')}`
    const running = `sha256:${hashOf('running')}`
    const billing = {
      agent_name: 'billing',
      components: [toolComponent('pay')],
      manifest_hash: running,
    }
    await client.post('/manifests', billing)
    const { manifest_id } = await register([
      { type: 'subagent', name: 'billing', content: { manifest_hash: pinned } },
    ])
    const spans = [{ span_type: 'handoff', name: 'handoff to billing' }]
    const first = await store([], { manifest_id, spans })
    await settled()
    await store([], { manifest_id, spans })
    await settled()
    const sent = await sql<{ body: Buffer }[]>`
      select body from deliveries where org_id = ${org.orgId} and event = 'subagent.drift'`
    t.same(
      sent.map(({ body }) => JSON.parse(body.toString()).data),
      [
        {
          agent_name: 'support',
          subagent_name: 'billing',
          manifest_id,
          expected_hash: pinned,
          observed_hash: running,
          trace_sample_ids: [first],
        },
      ],
    )
  })
})
