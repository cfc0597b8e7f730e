import t from 'tap'
import { applyRepairHandler } from '../../../workers/regression/apply-repair.ts'
import { previewRepairHandler } from '../../../workers/regression/preview-repair.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }

t.test('repair', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const startWorkers = () => service.startWorkers([previewRepairHandler, applyRepairHandler])
  const workers = await startWorkers()

  /** An agent with two versions, and traces of the first that need two rules, one, or none. */
  async function setup() {
    const agent = await makeAgent(service)
    const before = await agent.register([
      toolComponent('refund', { order: string }, ['order']),
      toolComponent('search', { limit: integer }),
      toolComponent('gone'),
      toolComponent('same'),
    ])
    const under = { manifest_id: before.manifest_id }
    const span = { id: 's1', span_type: 'tool', name: 'refund', input_preview: '{"order":"o1"}' }
    const traces = {
      refund: await agent.store([['refund', { order: 'o1' }, 'paid']], { ...under, spans: [span] }),
      search: await agent.store([['search', { limit: 10 }]], under),
      same: await agent.store([['same', {}]], under),
      gone: await agent.store([['gone', {}]], under),
      both: await agent.store(
        [
          ['refund', { order: 'o2' }],
          ['search', { limit: 5 }],
        ],
        under,
      ),
    }
    const order = { order_id: string, currency: { ...string, default: 'usd' } }
    const after = await agent.propose([
      toolComponent('refund', order, ['order_id', 'currency']),
      toolComponent('search', { limit: string }),
      toolComponent('same'),
    ])
    const pair = { old_manifest_id: before.manifest_id, new_manifest_id: after.manifest_id }
    return { ...agent, traces, pair }
  }

  const revisionsOf = (orgId: string) => sql<{ trace_id: string; xmin: string }[]>`
    select trace_id, xmin::text, batch_id, created_at from trace_revisions
    where org_id = ${orgId} order by trace_id`

  t.test('a preview shows the rules, how many traces use them, and what they change', async (t) => {
    const { client, pair, traces, org } = await setup()
    const preview = await client.post('/repair/preview', { ...pair, sample_size: 2 })
    t.match(preview, {
      status: 200,
      body: {
        status: 'completed',
        message: null,
        rules: [
          {
            rule_index: 0,
            rule_type: 'rename_param',
            component_name: 'refund',
            details: { from: 'order', to: 'order_id' },
            used_by: 2,
            confidence: 1,
          },
          {
            rule_index: 1,
            rule_type: 'add_default',
            component_name: 'refund',
            details: { param: 'currency', value: 'usd' },
            used_by: 2,
            confidence: 1,
          },
          {
            rule_index: 2,
            rule_type: 'coerce',
            component_name: 'search',
            details: { param: 'limit', type: 'string' },
            used_by: 2,
            confidence: 1,
          },
        ],
        rules_hash: /^[0-9a-f]{64}$/,
        previews: [{ trace_id: traces.both }, { trace_id: traces.search }],
        total_eligible: 3,
        total_sampled: 5,
      },
    })
    const [both] = preview.body.previews
    t.match(JSON.stringify(both.before), /\\?"order\\?":\s*\\?"o2/)
    t.match(JSON.stringify(both.after), /\\?"order_id\\?":\s*\\?"o2/)
    const job = await client.get(`/jobs/${preview.body.job_id}`)
    t.match(job.body, { kind: 'repair.preview', state: 'succeeded', result: { total_eligible: 3 } })
    t.same(await revisionsOf(org.orgId), [], 'nothing is stored')
  })

  t.test('a preview without rules says so', async (t) => {
    const { client, pair, register } = await setup()
    const removed = await register([toolComponent('other')])
    const named = { ...pair, new_manifest_id: removed.manifest_id }
    t.match(await client.post('/repair/preview', named), {
      status: 200,
      body: { message: /No rule/, rules: [], previews: [], total_eligible: 0 },
    })
    t.match(await client.post('/repair/apply', named), {
      status: 200,
      body: { status: 'completed', total_episodes: 0, rules_applied: [] },
    })
  })

  t.test('the repaired content stands beside the trace, which stays as it is', async (t) => {
    const { client, pair, traces } = await setup()
    const path = `/traces/${traces.refund}`
    const recorded = (await client.get(path)).body
    t.same(recorded.revisions, [])
    const applied = await client.post('/repair/apply', pair)
    t.match(applied, {
      status: 200,
      body: {
        status: 'completed',
        ...pair,
        approved_rule_indices: null,
        total_episodes: 3,
        repaired_count: 3,
        skipped_count: 0,
        failed_count: 0,
        rules_applied: [
          { rule_index: 0, used_by: 2 },
          { rule_index: 1, used_by: 2 },
          { rule_index: 2, used_by: 2 },
        ],
      },
    })
    const { batch_id } = applied.body
    const shown = (await client.get(`/repair/${batch_id}`)).body
    t.same(new Set(shown.repaired_trace_ids), new Set([traces.refund, traces.search, traces.both]))
    const { revisions, ...now } = (await client.get(path)).body
    t.match(revisions, [{ target_manifest_id: pair.new_manifest_id, batch_id }])
    t.same({ ...now, revisions: [] }, recorded)
    const repaired = (await client.get(`${path}?revision=${pair.new_manifest_id}`)).body
    t.match(repaired.llm_calls[0].tool_calls, [
      { tool_name: 'refund', args: { order_id: 'o1', currency: 'usd' }, result: 'paid' },
    ])
    t.same(repaired.spans, recorded.spans)
    const part = `${path}?fields=llm_calls&revision=${pair.new_manifest_id.toUpperCase()}`
    t.same((await client.get(part)).body.llm_calls, repaired.llm_calls)

    for (const other of [pair.old_manifest_id, 'no-uuid']) {
      for (const fields of ['', '&fields=core']) {
        t.match(await client.get(`${path}?revision=${other}${fields}`), {
          status: 404,
          body: { detail: 'Revision not found' },
        })
      }
    }
    const unrepaired = `/traces/${traces.same}?revision=${pair.new_manifest_id}`
    t.equal((await client.get(unrepaired)).status, 404)
  })

  t.test('a repair by approved rules skips what needs another one', async (t) => {
    const { client, pair, traces, org } = await setup()
    const applied = await client.post('/repair/apply-selective', {
      ...pair,
      approved_rule_indices: [2, 2],
    })
    t.match(applied, {
      status: 200,
      body: {
        approved_rule_indices: [2],
        total_episodes: 3,
        repaired_count: 1,
        skipped_count: 2,
        rules_applied: [{ rule_index: 2, rule_type: 'coerce', used_by: 1 }],
      },
    })
    t.match(await revisionsOf(org.orgId), [{ trace_id: traces.search }])
    t.equal((await client.get(`/repair/${applied.body.batch_id}`)).body.rules_applied.length, 1)
  })

  t.test('once more with the same rules writes nothing', async (t) => {
    const { client, pair, org } = await setup()
    const first = await client.post('/repair/apply', pair)
    const written = await revisionsOf(org.orgId)
    t.equal(written.length, 3)
    const second = await client.post('/repair/apply', pair)
    const { body: newest } = await client.get('/repair?limit=1')
    t.match(newest, { total: 2, batches: [{ batch_id: second.body.batch_id }] })
    const { body: rest } = await client.get(`/repair?limit=1&cursor=${newest.next_cursor}`)
    t.match(rest, { next_cursor: null, batches: [{ batch_id: first.body.batch_id }] })
    t.match(second, { status: 200, body: { repaired_count: 3, failed_count: 0 } })
    t.not(second.body.batch_id, first.body.batch_id)
    t.same(await revisionsOf(org.orgId), written)
  })

  t.test('what was made of a trace before it changed does not count', async (t) => {
    const { client, pair, traces, org } = await setup()
    await client.post('/repair/apply', pair)
    await sql`
      update traces set revision = revision + 1
      where org_id = ${org.orgId} and trace_id = ${traces.refund}`
    const path = `/traces/${traces.refund}`
    t.same((await client.get(path)).body.revisions, [])
    t.equal((await client.get(`${path}?revision=${pair.new_manifest_id}`)).status, 404)
    const { body } = await client.post('/repair/apply', pair)
    t.match((await client.get(path)).body.revisions, [{ batch_id: body.batch_id }])
  })

  t.test(
    'running traces are left out, and traces that came before their manifest are not',
    async (t) => {
      const { client, register, store } = await makeAgent(service)
      const components = [toolComponent('refund', { order: string }, ['order'])]
      const known = await register(components)
      const call = [['refund', { order: 'o1' }]] as const
      await store(call, { manifest_id: known.manifest_id, status: 'running' })
      const early = await store(call, { manifest_hash: known.manifest_hash })
      await sql`update traces set manifest_id = null where trace_id = ${early}`
      const after = await register([toolComponent('refund', { order_id: string }, ['order_id'])])
      const pair = { old_manifest_id: known.manifest_id, new_manifest_id: after.manifest_id }
      const { body } = await client.post('/repair/apply', pair)
      t.match(body, { total_episodes: 1, repaired_count: 1 })
      const repaired = await client.get(`/traces/${early}?revision=${after.manifest_id}`)
      t.match(repaired.body.llm_calls[0].tool_calls, [{ args: { order_id: 'o1' } }])
    },
  )

  t.test('rules are only applied as they were shown', async (t) => {
    const { client, pair } = await setup()
    const { rules_hash } = (await client.post('/repair/preview', pair)).body
    const apply = (more: object) => client.post('/repair/apply', { ...pair, ...more })
    t.match(await apply({ rules_hash: '0'.repeat(64) }), {
      status: 409,
      body: { code: 'rules_changed' },
    })
    t.match(await apply({ rules_hash }), { status: 200, body: { rules_hash } })
    const selective = (approved_rule_indices: unknown) =>
      client.post('/repair/apply-selective', { ...pair, approved_rule_indices })
    for (const indices of [[3], [0, 12_345_678]]) {
      t.match(await selective(indices), { status: 400, body: { detail: /no rule of index/ } })
    }
    for (const indices of [undefined, [], [-1], ['a'], [0.5]]) {
      t.equal((await selective(indices)).status, 422, JSON.stringify(indices))
    }
  })

  t.test('the manifests must be two of one agent', async (t) => {
    const { client, pair, traces } = await setup()
    const other = (
      await client.post('/manifests', {
        agent_name: 'other',
        components: [toolComponent('refund')],
      })
    ).body.manifest_id
    for (const path of ['preview', 'apply', 'apply-selective']) {
      const ask = async (named: object) => {
        const body = { ...pair, approved_rule_indices: [0], ...named }
        return (await client.post(`/repair/${path}`, body)).status
      }
      for (const unknown of ['no-uuid', '01a20080-6a47-7000-8000-4f1d2a9c3b5e', traces.refund]) {
        t.equal(await ask({ old_manifest_id: unknown }), 404, path)
        t.equal(await ask({ new_manifest_id: unknown }), 404, path)
      }
      t.equal(await ask({ old_manifest_id: other }), 400, path)
      t.equal(await ask({ old_manifest_id: pair.new_manifest_id }), 400, path)
    }
    for (const unknown of ['no-uuid', pair.new_manifest_id]) {
      t.match(await client.get(`/repair/${unknown}`), {
        status: 404,
        body: { detail: 'Repair batch not found' },
      })
    }
  })

  t.test('a key of another project sees neither manifests nor batches', async (t) => {
    const { client, pair, org } = await setup()
    const { batch_id } = (await client.post('/repair/apply', pair)).body
    const { workspaceId: workspace_id } = org
    const named = { name: 'elsewhere', workspace_id }
    const { body: project } = await client.post('/projects', named)
    const keyOf = async (permissions: 'read' | 'write', project_id: string) => {
      const scope = { scope: 'project', permissions, workspace_id, project_id } as const
      return service.client((await makeTestKey(sql, org.orgId, scope)).raw)
    }
    const elsewhere = await keyOf('write', project.id)
    t.equal((await elsewhere.get(`/repair/${batch_id}`)).status, 404)
    t.same((await elsewhere.get('/repair')).body.batches, [])
    for (const path of ['preview', 'apply']) {
      t.equal((await elsewhere.post(`/repair/${path}`, pair)).status, 404)
    }
    const reader = await keyOf('read', org.projectId)
    t.equal((await reader.get(`/repair/${batch_id}`)).status, 200)
    t.equal((await reader.post('/repair/apply', pair)).status, 403)
  })

  t.test('who does not wait is told where to look, and the same key starts it once', async (t) => {
    const { client, pair } = await setup()
    const headers = { prefer: 'respond-async', 'idempotency-key': 'once' }
    // Nothing is done before it is answered.
    await workers.stop()
    const shown = await client.post('/repair/preview', pair, { prefer: 'respond-async' })
    t.match(shown, { status: 202, headers: { location: /\/jobs\// } })
    const first = await client.post('/repair/apply', pair, headers)
    t.match(first, { status: 202, headers: { location: /\/jobs\// } })
    await startWorkers()
    const previewed = (await client.get(`/jobs/${shown.body.job_id}?wait=20`)).body
    t.match(previewed, { state: 'succeeded', result: { total_eligible: 3, total_sampled: 5 } })
    const again = await client.post('/repair/apply', pair, headers)
    t.match(again, { body: { batch_id: first.body.batch_id } })
    const job = (await client.get(`/jobs/${first.body.job_id}?wait=20`)).body
    const { batch_id } = first.body
    t.match(job, { state: 'succeeded', links: { result: `/api/v1/repair/${batch_id}` } })
    t.match((await client.get(`/repair/${batch_id}`)).body, {
      status: 'completed',
      repaired_count: 3,
      failures: [],
    })
  })
})
