import t from 'tap'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

t.test('what the document on repairs shows leads from a trace to a row', async (t) => {
  const { runShell } = await openDocumented(t, 'repair.md')
  const [, previewed, applied, built] = await runShell()
  const rule = { rule_index: 0, rule_type: 'rename_param', component_name: 'refund' }
  t.match(splitObjects(previewed), [
    { message: null, rules: [{ ...rule, used_by: 1, confidence: 1 }], total_eligible: 1 },
  ])
  const [batch, trace] = splitObjects(applied)
  t.match(batch, { status: 'completed', repaired_count: 1, failed_count: 0 })
  t.match(trace, { llm_calls: [{ tool_calls: [{ args: { order_id: 'o7' } }] }] })
  const [version, row] = splitObjects(built)
  t.match(version, { status: 'ready', row_count: 1 })
  t.match(row, { provenance: { trace_id: 'repair-7', repaired: true } })
})
