import t from 'tap'
import { decideTraces } from '../../../../jobs/decide-traces.ts'
import { traceBatch } from '../../../../jobs/trace-batches.ts'
import { readTrace } from '../../../../jobs/rules/traces/read-trace.ts'
import { tracePosition } from '../../../../jobs/rules/traces/trace-position.ts'

t.test('payloads and checkpoints hold every trace that can be stored', async (t) => {
  const trace_id = '🧭'.repeat(128)
  const started_at = '9999-12-31T23:59:59.999Z'
  const body = { trace_id, agent_name: 'a', started_at }
  const read = readTrace(body, { traceId: () => 'made', now: new Date('2026-01-01') })
  if ('faults' in read) return t.fail(JSON.stringify(read.faults))
  const written = JSON.stringify({ started_at: read.trace.started_at, trace_id })
  const stored: unknown = JSON.parse(written)
  t.same(tracePosition.validate(stored), { value: { started_at: new Date(started_at), trace_id } })
  const project_id = '018f0000-0000-7000-8000-000000000000'
  t.notOk(traceBatch.validate({ project_id, trace_ids: [trace_id] }).error)
  const decided = { after: trace_id, seen: 1, total: 1, verdict_counts: {} }
  t.notOk(decideTraces.checkpoint?.validate(decided).error)
})
