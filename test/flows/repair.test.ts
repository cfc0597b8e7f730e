import t from 'tap'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { applyRepairHandler } from '../../workers/regression/apply-repair.ts'
import { previewRepairHandler } from '../../workers/regression/preview-repair.ts'
import { makeAgent, openAgentService, toolComponent } from '../support/agents.ts'
import { buildVersion, readJsonl } from '../support/built-dataset.ts'

const string = { type: 'string' }

t.test('traces of an older version become training rows of the newer one', async (t) => {
  const service = await openAgentService(t)
  await service.startWorkers([previewRepairHandler, applyRepairHandler, buildDatasetHandler])
  const { client, register, store, settled, decision } = await makeAgent(service)
  const before = await register([
    toolComponent('refund', { order: string }, ['order']),
    toolComponent('unused', { n: { type: 'integer' } }),
  ])
  const call = {
    model_name: 'gpt-4o',
    rendered_input: [{ role: 'user', content: 'Give me back my money for o1' }],
    output: {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'refund', arguments: '{"order":"o1"}' } },
      ],
    },
    tool_calls: [{ id: 'c1', tool_name: 'refund', args: { order: 'o1' }, result: 'paid' }],
  }
  const traceId = await store([], { manifest_id: before.manifest_id, llm_calls: [call] })
  await client.post(`/traces/${traceId}/eval-scores`, {
    source: 'custom',
    scores: [{ name: 'helpful', score: 1 }],
  })
  await settled()
  const components = [
    toolComponent('refund', { order_id: string }, ['order_id']),
    toolComponent('unused', { n: string }),
  ]
  const after = await register(components)
  await settled()
  const verdict = await decision(traceId)
  t.match(verdict, { verdict: 'repair', target_manifest_id: after.manifest_id })

  const pair = { old_manifest_id: before.manifest_id, new_manifest_id: after.manifest_id }
  const report = await client.post(`/manifests/${after.manifest_id}/compatibility/run`, {
    old_manifest_id: before.manifest_id,
  })
  t.match(report.body, { total_episodes: 1, repair: 1 })
  const dataset = (await client.post('/datasets', { name: 'refunds', dataset_type: 'sft' })).body.id
  const build = () => buildVersion(client, dataset, { filters: { verdicts: ['keep', 'repair'] } })
  t.match(await build(), { row_count: 0, dropped_counts: { unrepaired: 1 } })

  const preview = (await client.post('/repair/preview', pair)).body
  const approved_rule_indices = preview.rules.map((rule: { rule_index: number }) => rule.rule_index)
  const { rules_hash } = preview
  const approved = { ...pair, approved_rule_indices, rules_hash }
  const { batch_id } = (await client.post('/repair/apply-selective', approved)).body
  t.same(await decision(traceId), verdict, 'the verdict stays')
  const version = await build()
  t.match(version, { row_count: 1 })
  const [row] = await readJsonl(client, version)
  t.match(JSON.stringify(row?.messages), /\\"order_id\\":\s*\\"o1\\"/)
  t.match(row?.provenance, {
    trace_id: traceId,
    repaired: true,
    repair: {
      batch_id,
      target_manifest_id: after.manifest_id,
      rules: [0],
    },
  })

  const next = await register([...components, toolComponent('other')])
  await settled()
  t.match(await decision(traceId), { verdict: 'repair', target_manifest_id: next.manifest_id })
  t.match(await build(), { row_count: 0, dropped_counts: { unrepaired: 1 } })
  const again = { ...pair, new_manifest_id: next.manifest_id }
  t.match(await client.post('/repair/apply', again), { status: 200, body: { repaired_count: 1 } })
  t.match(await build(), { row_count: 1 })
  t.match((await client.get(`/traces/${traceId}`)).body.revisions, [
    { target_manifest_id: next.manifest_id },
    { target_manifest_id: after.manifest_id, batch_id },
  ])

  const fewer = { ...again, approved_rule_indices: [1] }
  const narrowed = await client.post('/repair/apply-selective', fewer)
  t.match(narrowed, { status: 200, body: { repaired_count: 0, skipped_count: 1 } })
  t.match((await client.get(`/traces/${traceId}`)).body.revisions, [
    { target_manifest_id: after.manifest_id },
  ])
  t.match(await build(), { row_count: 0, dropped_counts: { unrepaired: 1 } })
})
