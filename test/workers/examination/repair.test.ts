import t from 'tap'
import { decodeContent, toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Component } from '../../../jobs/rules/manifests/manifest.ts'
import { repairTraces } from '../../../workers/examination/examiner.ts'
import { silentMeter } from '../../../workers/runtime/meter.ts'
import { manifest, tool, traceOf } from '../../support/manifests.ts'

const ignore = () => undefined
const run = { orgId: 'org', log: { info: ignore, warn: ignore, error: ignore }, meter: silentMeter }
let serial = 0
const stored = (...components: Component[]) => ({ id: `m${++serial}`, ...manifest(...components) })
const closed = (...args: Parameters<typeof traceOf>) => ({
  ...toTraceRow(traceOf(...args)),
  given_up: false,
})

t.test('traces are patched in the thread', async (t) => {
  const request = {
    manifest: stored(tool('lookup', { id: { type: 'string' } })),
    target: stored(tool('find', { id: { type: 'string' } })),
    approved: null,
    wants: 'preview' as const,
  }
  const traces = [closed([['lookup', { id: '1' }]]), closed([])]
  const [repaired, other] = await repairTraces(run, { ...request, traces })
  t.same(other, { kind: 'ineligible' })
  if (repaired?.kind !== 'repaired') return t.fail(repaired?.kind)
  t.match(decodeContent(repaired.content).llm_calls[0]?.tool_calls, [{ tool_name: 'find' }])
  t.match(repaired, {
    rules: [0],
    tools_called: ['find'],
    shown: {
      before: { messages: [], tool_calls: [{ id: null, tool_name: 'lookup', args: { id: '1' } }] },
      after: { messages: [], tool_calls: [{ id: null, tool_name: 'find', args: { id: '1' } }] },
    },
  })
})
