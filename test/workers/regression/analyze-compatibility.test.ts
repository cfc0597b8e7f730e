import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }

t.test('compatibility of recorded traces', async (t) => {
  const service = await openAgentService(t)

  /** An agent with traces of each verdict under its first manifest, and a second one. */
  async function setup() {
    const agent = await makeAgent(service)
    const before = await agent.register([
      toolComponent('refund', { order: string }, ['order']),
      toolComponent('search', { limit: integer }),
      toolComponent('gone', { z: integer }),
      toolComponent('same'),
    ])
    const under = { manifest_id: before.manifest_id }
    const traces = {
      keep: await agent.store([['search', { limit: 10 }]], under),
      unaffected: await agent.store([['same', {}]], under),
      repair: await agent.store([['refund', { order: 'o1' }]], under),
      replay: await agent.store([['search', { limit: 99 }]], under),
      drop: await agent.store([['gone', { z: 1 }]], under, 'system'),
    }
    await agent.store([['gone', {}]])
    await agent.settled()
    const after = await agent.register([
      toolComponent('refund', { order_id: string, currency: { ...string, default: 'usd' } }, [
        'order_id',
        'currency',
      ]),
      toolComponent('search', { limit: { ...integer, maximum: 50 } }),
      toolComponent('same'),
    ])
    return { ...agent, before, after, traces }
  }

  t.test('the report counts what each trace comes to, and why', async (t) => {
    const { client, before, after, traces } = await setup()
    const run = await client.post(`/manifests/${after.manifest_id}/compatibility/run`, {
      old_manifest_id: before.manifest_id,
    })
    t.match(run, {
      status: 200,
      body: {
        status: 'completed',
        old_manifest_id: before.manifest_id,
        new_manifest_id: after.manifest_id,
        total_episodes: 5,
        keep: 2,
        repair: 1,
        replay: 1,
        drop: 1,
        needs_review: 0,
        affected_trace_count: 4,
        component_impact: {
          refund: { keep: 0, repair: 1, replay: 0, drop: 0 },
          search: { keep: 1, repair: 0, replay: 1, drop: 0 },
          gone: { keep: 0, repair: 0, replay: 1, drop: 0 },
        },
        reason_counts: { tool_missing: 1, not_replayable: 1, tool_schema_incompatible: 1 },
        repair_rules: [
          { tool: 'refund', rule: 'rename_param', from: 'order', to: 'order_id', traces: 1 },
          { tool: 'refund', rule: 'add_default', param: 'currency', value: 'usd', traces: 1 },
        ],
        policy: { name: 'default', version: 1 },
      },
    })
    const path = `/manifests/${after.manifest_id}/compatibility/${run.body.report_id}`
    t.match((await client.get(path)).body, { report_id: run.body.report_id, keep: 2 })
    const job = await client.get(`/jobs/${run.body.job_id}`)
    t.match(job.body, { state: 'succeeded', links: { result: `/api/v1${path}` } })

    const dropped = await client.get(`${path}/episodes?verdict=drop`)
    t.match(dropped.body, {
      total: 1,
      episodes: [
        {
          trace_id: traces.drop,
          verdict: 'drop',
          reasons: [
            { action: 'drop', code: 'not_replayable' },
            { action: 'replay', code: 'tool_missing', component_type: 'tool', subject: 'gone' },
          ],
        },
      ],
    })
    const seen: string[] = []
    for (let next = `${path}/episodes?limit=2`; next;) {
      const { body } = await client.get(next)
      seen.push(...body.episodes.map(({ trace_id }: { trace_id: string }) => trace_id))
      next = body.next_cursor && `${path}/episodes?limit=2&cursor=${body.next_cursor}`
    }
    t.same(new Set(seen), new Set(Object.values(traces)))
    t.equal(seen.length, 5)
  })

  t.test('a registration starts an analysis of the version before by itself', async (t) => {
    const { client, before, after, settled } = await setup()
    await settled()
    const path = `/manifests/${after.manifest_id}/compatibility`
    t.match((await client.get(path)).body, {
      total: 1,
      reports: [
        {
          report_id: after.compatibility_report_id,
          status: 'completed',
          old_manifest_id: before.manifest_id,
          total_episodes: 5,
        },
      ],
    })
  })

  t.test('decisions are made anew against the manifest that has become active', async (t) => {
    const { before, after, settled, decision, traces, client, register, org } = await setup()
    await settled()
    t.match(await decision(traces.repair), {
      verdict: 'repair',
      compat_avg: 0.75,
      target_manifest_id: after.manifest_id,
      reasons: [{ rule: 9, code: 'compat.tool_schema_changed_repairable', subject: 'refund' }],
    })
    t.match(await decision(traces.replay), {
      verdict: 'replay',
      compat_avg: 0.25,
      reasons: [{ rule: 5, code: 'compat.tool_schema_incompatible', subject: 'search' }],
    })
    t.match(await decision(traces.drop), {
      verdict: 'drop',
      reasons: [{ rule: 4, code: 'compat.unreplayable', subject: 'gone' }],
    })
    t.match(await decision(traces.keep), { verdict: 'keep', compat_avg: 1 })
    const scores = await client.get(`/traces/${traces.replay}/eval-scores`)
    t.match(scores.body.compatibility_scores, [
      { name: 'compatibility', source: 'compat_engine', value: 0.25, label: 'replay' },
    ])

    await client.post(`/manifests/${before.manifest_id}/activate`)
    await settled()
    for (const id of Object.values(traces)) {
      t.match(await decision(id), {
        verdict: 'keep',
        compat_avg: 1,
        target_manifest_id: before.manifest_id,
      })
    }
    await register([toolComponent('refund', { order: string }, ['order'])])
    await register([toolComponent('same')])
    await settled()
    const [row] = await service.sql`
      select count(distinct target_manifest_id)::int as n, min(target_manifest_id::text) as id
      from verdicts where org_id = ${org.orgId} and target_manifest_id is not null`
    t.equal(row?.['n'], 1, 'of several changes in a row the last one holds')
    t.match(await decision(traces.replay), { verdict: 'replay' })
  })

  t.test('a new trace of an older manifest is measured against the active one', async (t) => {
    const { before, after, settled, decision, store } = await setup()
    await settled()
    const late = await store([['search', { limit: 98 }]], { manifest_id: before.manifest_id })
    const current = await store([['search', { limit: 3 }]], { manifest_id: after.manifest_id })
    const without = await store([['search', { limit: 97 }]])
    await settled()
    t.match(await decision(late), { verdict: 'replay', target_manifest_id: after.manifest_id })
    t.match(await decision(current), { verdict: 'keep', target_manifest_id: after.manifest_id })
    t.match(await decision(without), { target_manifest_id: null, compat_avg: null })
  })

  t.test('a flagged trace is kept for a review', async (t) => {
    const { register, store, settled, decision } = await makeAgent(service)
    const model = (name: string) => ({ type: 'model', name: 'main', content: { model: name } })
    const { manifest_id } = await register([model('gpt-4o')])
    const id = await store([], { manifest_id })
    await register([model('gpt-4o-mini')])
    await settled()
    t.match(await decision(id), { verdict: 'keep', needs_review: true, compat_avg: 1 })
  })

  t.test('refuses what cannot be compared', async (t) => {
    const { client, before, after } = await setup()
    const run = (id: string, old_manifest_id: unknown, more = {}) =>
      client.post(`/manifests/${id}/compatibility/run`, { old_manifest_id, ...more })
    t.equal((await run(after.manifest_id, randomUUIDv7())).status, 404)
    t.equal((await run(randomUUIDv7(), before.manifest_id)).status, 404)
    t.equal((await run(after.manifest_id, after.manifest_id)).status, 400)
    const other = await client.post('/manifests', {
      agent_name: 'other',
      components: [toolComponent('a')],
    })
    t.equal((await run(after.manifest_id, other.body.manifest_id)).status, 400)
    t.equal((await run(after.manifest_id, 'x', { trace_window_days: 0 })).status, 422)
    const path = `/manifests/${before.manifest_id}/compatibility/${after.compatibility_report_id}`
    t.equal((await client.get(path)).status, 404, 'a report of another manifest')
  })

  t.test('only traces of the window count, and none is lost between pages', async (t) => {
    const { client, register, settled, org } = await makeAgent(service)
    const before = await register([toolComponent('a', { n: integer })])
    const after = await register([toolComponent('a', { n: { ...integer, maximum: 99 } })])
    // The analysis that the activation has started must not see the traces.
    await settled()
    const day = 86_400_000
    const now = Date.now()
    const traces = Array.from({ length: 1200 }, (_, n) => ({
      agent_name: 'support',
      manifest_id: before.manifest_id,
      started_at: new Date(now - (n % 40) * day).toISOString(),
      llm_calls: [
        {
          rendered_input: [{ role: 'user', content: `n ${n}` }],
          tool_calls: [{ tool_name: 'a', args: { n: n % 200 } }],
        },
      ],
    }))
    for (const half of [traces.slice(0, 600), traces.slice(600)]) {
      t.equal((await client.post('/traces/batch', half)).body.count, 600)
    }
    await settled()
    const run = async (trace_window_days: number) =>
      (
        await client.post(`/manifests/${after.manifest_id}/compatibility/run`, {
          old_manifest_id: before.manifest_id,
          trace_window_days,
        })
      ).body
    t.match(await run(365), { total_episodes: 1200, keep: 600, replay: 600 })
    t.match(await run(30), { total_episodes: 900, keep: 480, replay: 420 })
    const [episodes] = await service.sql`
      select count(*)::int as n from compat_episodes where org_id = ${org.orgId}`
    t.equal(episodes?.['n'], 2100)
  })
})
