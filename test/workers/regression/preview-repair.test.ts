import t from 'tap'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { previewRepairHandler } from '../../../workers/regression/preview-repair.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { callingRow } from '../../support/calling-rows.ts'
import { openService } from '../../support/service.ts'

t.test('a preview tries the newest 1,000 traces', async (t) => {
  const service = await openService(t)
  await service.startWorkers([previewRepairHandler])
  const { org, client, register } = await makeAgent(service)
  const before = await register([toolComponent('a', { n: { type: 'integer' } })])
  const after = await register([toolComponent('a', { n: { type: 'string' } })])
  // The older ones fit as they are.
  const rows = Array.from({ length: 1100 }, (_, n) =>
    callingRow(org, { manifest_id: before.manifest_id, ageSeconds: n, n: n < 1000 ? n : 'old' }),
  )
  await insertTraces(service.sql, rows)
  const pair = { old_manifest_id: before.manifest_id, new_manifest_id: after.manifest_id }
  t.match(await client.post('/repair/preview', { ...pair, sample_size: 1 }), {
    status: 200,
    body: {
      rules: [{ rule_type: 'coerce', used_by: 1000, confidence: 1 }],
      previews: [{ trace_id: rows[0]?.trace_id }],
      total_eligible: 1000,
      total_sampled: 1000,
    },
  })
})
