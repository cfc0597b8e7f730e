import t from 'tap'
import { openPreview } from '../../../../jobs/rules/manifests/repair-preview.ts'
import { hashRepairRules, listRepairRules } from '../../../../jobs/rules/manifests/repair-rules.ts'
import { manifest, tool } from '../../../support/manifests.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }
const rules = listRepairRules(
  manifest(tool('a', { p: integer, q: integer }), tool('b', { r: integer })),
  manifest(tool('a', { p: string, q: string }), tool('b', { r: string })),
)
const shown = { before: { messages: [], tool_calls: [] }, after: { messages: [], tool_calls: [] } }

t.test('a preview of repairs', async (t) => {
  t.test('says of each rule how often it was used and how often that was enough', async (t) => {
    const preview = openPreview(rules, 1)
    preview.add('t1', { kind: 'repaired', rules: [0, 1], shown: null })
    preview.add('t2', { kind: 'repaired', rules: [0], shown: null })
    preview.add('t3', { kind: 'failed', rules: [0, 1], fitting: [1] })
    preview.add('t4', { kind: 'ineligible' })
    preview.add('t5', { kind: 'given_up' })
    t.match(preview.result(), {
      rules: [
        { rule_index: 0, used_by: 3, confidence: 0.6667 },
        { rule_index: 1, used_by: 2, confidence: 1 },
        { rule_index: 2, component_name: 'b', used_by: 0, confidence: 0 },
      ],
      rules_hash: hashRepairRules(rules),
      total_eligible: 4,
      total_sampled: 5,
      message: null,
    })
  })

  t.test('shows the last traces that were repaired, the last one first', async (t) => {
    const preview = openPreview(rules, 2)
    for (const id of ['t1', 't2', 't3']) preview.add(id, { kind: 'repaired', rules: [0], shown })
    preview.add('t4', { kind: 'failed', rules: [0], fitting: [] })
    t.same(
      preview.result().previews.map(({ trace_id }) => trace_id),
      ['t3', 't2'],
    )
  })

  t.test('says why it is empty', async (t) => {
    t.match(openPreview([], 5).result(), { rules: [], previews: [], message: /No rule/ })
    t.match(openPreview(rules, 5).result(), { message: /No trace was recorded/ })
    const preview = openPreview(rules, 5)
    preview.add('a', { kind: 'ineligible' })
    t.match(preview.result(), { message: /No trace of the sample is one/, total_sampled: 1 })
  })
})
