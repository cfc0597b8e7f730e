import t from 'tap'
import { countViolations } from '../../../sql/manifests/contract-violations.ts'
import { foldCounts } from '../../../sql/traces/count-changes.ts'
import { makeTestKey } from '../../support/service.ts'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'

const string = { type: 'string' }

t.test('agents', async (t) => {
  const service = await openAgentService(t)

  t.test('are known by their traces, their manifests, and by who gives them work', async (t) => {
    const { client, store, register, settled } = await makeAgent(service)
    t.same((await client.get('/agents')).body, {
      agents: [],
      parent_child_map: {},
      total: 0,
      limit: 50,
      offset: 0,
      next_cursor: null,
    })
    const { manifest_id } = await register([toolComponent('a')])
    await register([toolComponent('b')])
    await store([], {
      started_at: '2026-01-02T00:00:00Z',
      spans: [{ span_type: 'handoff', name: 'handoff to billing' }],
    })
    const last = await store([], { started_at: '2026-01-03T00:00:00Z' })
    await store([], { status: 'running', started_at: '2026-01-01T00:00:00Z' })
    await client.post('/traces', { agent_name: 'other', started_at: '2025-01-01T00:00:00Z' })
    await client.post('/manifests', { agent_name: 'planned', components: [toolComponent('a')] })
    await settled()
    const { body } = await client.get('/agents')
    t.match(body, {
      total: 4,
      parent_child_map: { support: ['billing'] },
      agents: [
        {
          agent_name: 'support',
          trace_count: 3,
          unevaluated_count: 1,
          last_trace_at: '2026-01-03T00:00:00.000Z',
          is_subagent: false,
          latest_manifest: { version_label: 'v2', status: 'active' },
        },
        { agent_name: 'other', trace_count: 1, latest_manifest: null },
        { agent_name: 'billing', trace_count: 0, is_subagent: true, last_trace_at: null },
        { agent_name: 'planned', trace_count: 0, latest_manifest: { version_label: 'v1' } },
      ],
    })
    const page = await client.get('/agents?limit=1&offset=1')
    t.match(page.body, { total: 4, agents: [{ agent_name: 'other' }] })
    t.equal(page.body.agents[0].total, undefined)
    const next = await client.get(`/agents?limit=1&cursor=${page.body.next_cursor}`)
    t.match(next.body, { offset: 2, agents: [{ agent_name: 'billing' }] })
    t.match((await client.get('/agents?offset=4')).body, { total: 4, agents: [] })
    await client.delete(`/traces/${last}`)
    const one = await client.get('/agents/support')
    t.match(one, {
      status: 200,
      body: { agent_name: 'support', trace_count: 2, manifest_versions: 2 },
    })
    t.equal(
      Object.values(one.body.verdict_counts).reduce((a, b) => Number(a) + Number(b), 0),
      1,
    )
    t.ok(manifest_id)
    t.equal((await client.get('/agents/nobody')).status, 404)
  })

  t.test('are gone with their last trace, whether or not changes are added up', async (t) => {
    const { client } = await makeAgent(service)
    const names = async () =>
      (await client.get('/agents')).body.agents.map((a: { agent_name: string }) => a.agent_name)
    const store = async (agent_name: string) =>
      (await client.post('/traces', { agent_name })).body.trace_id as string
    const first = await store('first')
    t.same(await names(), ['first'])
    while ((await foldCounts(service.sql, 1000)) > 0);
    await store('second')
    t.same((await names()).sort(), ['first', 'second'])
    await client.delete(`/traces/${first}`)
    t.same(await names(), ['second'])
    while ((await foldCounts(service.sql, 1000)) > 0);
    t.same(await names(), ['second'])
    t.match((await client.get('/agents')).body, { total: 1 })
  })

  t.test('of test harnesses are hidden unless asked for', async (t) => {
    const { client, store } = await makeAgent(service)
    await store([])
    await client.post('/traces', { agent_name: 'by trace', metadata: { fixture: true } })
    const fixture = {
      agent_name: 'by manifest',
      components: [toolComponent('a')],
      metadata: { fixture: true },
    }
    await client.post('/manifests', fixture)
    const names = async (path: string) =>
      (await client.get(path)).body.agents.map((a: { agent_name: string }) => a.agent_name).sort()
    t.same(await names('/agents'), ['support'])
    t.same(await names('/agents?include_fixtures=true'), ['by manifest', 'by trace', 'support'])
  })

  t.test('have a topology, of all and of one', async (t) => {
    const { client, settled } = await makeAgent(service)
    const handing = (agent_name: string, to: string, started_at: string) =>
      client.post('/traces', {
        agent_name,
        started_at,
        user_input_preview: `${agent_name} ${to} ${started_at}`,
        spans: [{ span_type: 'handoff', name: `handoff to ${to}` }],
      })
    await handing('a', 'b', '2026-01-01T00:00:00Z')
    const newest = await handing('a', 'b', '2026-02-01T00:00:00Z')
    await handing('b', 'c', '2026-02-01T00:00:00Z')
    await handing('x', 'y', '2026-02-01T00:00:00Z')
    await handing('b', 'a', '2025-01-01T00:00:00Z')
    await settled()
    const { body } = await client.get('/agents/topology')
    t.match(body.edges[0], {
      parent: 'a',
      child: 'b',
      via: 'handoff',
      trace_count: 2,
      last_seen_at: '2026-02-01T00:00:00.000Z',
    })
    t.same(body.nodes, [
      { agent_name: 'a', trace_count: 2 },
      { agent_name: 'b', trace_count: 2 },
      { agent_name: 'c', trace_count: 0 },
      { agent_name: 'x', trace_count: 1 },
      { agent_name: 'y', trace_count: 0 },
    ])
    const of = async (path: string) =>
      (await client.get(path)).body.edges.map(
        ({ parent, child }: { parent: string; child: string }) => `${parent}${child}`,
      )
    t.same(await of('/agents/c/topology?since=2025-12-01T00:00:00Z'), ['ab', 'bc'])
    t.same(await of('/agents/topology?since=2026-01-15T00:00:00Z'), ['ab', 'bc', 'xy'])
    t.same(
      await of('/agents/topology?since=2026-02-01T23:00:00Z'),
      ['ab', 'bc', 'xy'],
      'whole days',
    )
    t.same(await of('/agents/a/topology'), ['ab', 'ba', 'bc'], 'a circle comes to an end')
    await client.delete(`/traces/${newest.body.trace_id}`)
    const left = {
      parent: 'a',
      child: 'b',
      trace_count: 1,
      last_seen_at: '2026-01-01T00:00:00.000Z',
    }
    t.match((await client.get('/agents/topology')).body.edges[0], left)
    while ((await foldCounts(service.sql, 1000)) > 0);
    t.match(
      (await client.get('/agents/topology')).body.edges[0],
      left,
      'after changes are added up',
    )
  })

  t.test('show their violations, newest first, with counts of every kind', async (t) => {
    const { org, client, register, store, settled } = await makeAgent(service)
    const { manifest_id } = await register([toolComponent('a', { q: string }, ['q'])], {
      is_closed_world: true,
    })
    const minutesAgo = (n: number) => new Date(Date.now() - n * 60_000).toISOString()
    for (const n of [1, 2, 3]) await store([['a', {}]], { manifest_id, started_at: minutesAgo(n) })
    const odd = await store([['b', {}]], { manifest_id, started_at: minutesAgo(4) })
    await store([['b', {}]], { manifest_id, started_at: minutesAgo(26 * 60) })
    await settled()
    const { body } = await client.get('/agents/support/violations?limit=2')
    t.match(body, {
      agent_name: 'support',
      since: String,
      total: 4,
      limit: 2,
      offset: 0,
      counts_by_kind: { tool_args_invalid: 3, tool_undeclared: 1 },
    })
    t.equal(body.violations.length, 2)
    t.ok(body.violations[0].occurred_at > body.violations[1].occurred_at)
    const filtered = await client.get('/agents/support/violations?kind=tool_undeclared')
    t.match(filtered.body, {
      total: 1,
      counts_by_kind: { tool_args_invalid: 3 },
      violations: [
        {
          trace_id: odd,
          manifest_id,
          version_label: 'v1',
          kind: 'tool_undeclared',
          severity: 'high',
          subject: 'b',
        },
      ],
    })
    const all = await client.get(`/agents/support/violations?since=${minutesAgo(48 * 60)}`)
    t.equal(all.body.total, 5)
    const counted = await countViolations(
      service.sql,
      { ...org, agentName: 'support', since: new Date(0) },
      2,
    )
    t.same(counted, { tool_args_invalid: 2, tool_undeclared: 2 }, 'each kind up to a limit')
    const rest = await client.get('/agents/support/violations?offset=3')
    t.equal(rest.body.violations.length, 1)
    for (const wrong of ['kind=rudeness', 'limit=0', 'limit=501', 'offset=-1', 'since=yesterday']) {
      t.equal((await client.get(`/agents/support/violations?${wrong}`)).status, 422, wrong)
    }
    t.equal((await client.get('/agents/nobody/violations')).status, 404)
    await client.post('/traces', { agent_name: 'quiet' })
    t.match(await client.get('/agents/quiet/violations'), { status: 200, body: { total: 0 } })
    const beyond = await client.get('/agents/quiet/violations?offset=9007199254740991')
    t.match(beyond, { status: 200, body: { violations: [] } })
  })

  t.test('show what the latest change did to their traffic', async (t) => {
    const { client, register, store, settled } = await makeAgent(service)
    const first = await register([toolComponent('a'), toolComponent('b', { x: string })])
    t.match(await client.get('/agents/support/impact-report'), {
      status: 200,
      body: { status: 'no_transition', surface_changes: [], severity: null },
    })
    t.match((await client.get('/agents/support/compat-summary')).body, { status: 'no_transition' })
    await store([['a', {}]], { manifest_id: first.manifest_id })
    await store([['b', { x: '1' }]], { manifest_id: first.manifest_id })
    await settled()
    const second = await register([toolComponent('b', { x: string })])
    const report = await client.get('/agents/support/impact-report')
    t.match(report, {
      status: 200,
      body: {
        status: 'ok',
        agent_name: 'support',
        old_manifest_id: first.manifest_id,
        new_manifest_id: second.manifest_id,
        surface_changes: [
          { surface: 'tools', change_type: 'breaking', kind: 'tool_removed', details: String },
        ],
        affected_trace_count: 1,
        compat_summary: { keep: 1, repair: 0, replay: 1, drop: 0 },
        severity: 'high',
        severity_reason: 'tool a: tool removed; used by 1 trace',
        human_summary: /1 of 2 traces use what has changed/,
        report_id: second.compatibility_report_id,
      },
    })
    t.match((await client.get('/agents/support/compat-summary')).body, {
      status: 'ok',
      old_version: 'v1',
      new_version: 'v2',
      total_traces: 2,
      keep: 1,
      replay: 1,
      component_impact: { a: { replay: 1 } },
    })
    await store([['a', {}]], { manifest_id: first.manifest_id })
    const short = { old_manifest_id: first.manifest_id, trace_window_days: 1 }
    const run = await client.post(`/manifests/${second.manifest_id}/compatibility/run`, short)
    t.equal(run.body.status, 'completed')
    t.equal((await client.get('/agents/support/compat-summary')).body.total_traces, 2)
    const anew = await client.get('/agents/support/compat-summary?recompute=true')
    t.match(anew, { status: 200, body: { status: 'ok', total_traces: 3, replay: 2 } })
    const back = `manifest_id=${first.manifest_id}&baseline_manifest_id=${second.manifest_id}`
    t.match((await client.get(`/agents/support/impact-report?${back}`)).body, {
      status: 'ok',
      surface_changes: [{ change_type: 'non_breaking', kind: 'tool_added' }],
      severity: 'low',
      severity_reason: /By structure only/,
    })
    const other = await client.post('/manifests', {
      agent_name: 'other',
      components: [toolComponent('a')],
    })
    const foreign = `manifest_id=${other.body.manifest_id}`
    t.equal((await client.get(`/agents/support/impact-report?${foreign}`)).status, 404)
  })

  t.test('of one name in several projects need the project named', async (t) => {
    const { client, org } = await makeAgent(service)
    const register = (project: string) =>
      client.post('/manifests', { agent_name: 'twin', components: [toolComponent('a')], project })
    await register('one')
    t.equal((await client.get('/agents/twin')).status, 200)
    await register('two')
    t.match(await client.get('/agents/twin'), { status: 400, body: { detail: /project/ } })
    t.equal((await client.get('/agents/twin?project=two')).status, 200)
    await register('default')
    t.match((await client.get('/agents/twin')).body, { project_id: org.projectId })
    const key = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'read',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    t.equal((await service.client(key.raw).get('/agents')).body.total, 1)
    t.equal((await client.get('/agents')).body.total, 3)
  })
})
