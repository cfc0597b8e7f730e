import t from 'tap'
import { hashRepairRules, listRepairRules } from '../../../../jobs/rules/manifests/repair-rules.ts'
import { component, manifest, manifests, tool } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }
const contract = (properties: object) =>
  component('output_contract', 'answer', { schema: { type: 'object', properties } })

const BEFORE = manifest(
  tool('refund', { order: string, amount: integer, note: { type: 'boolean' } }),
  tool('lookup', { id: string }),
  tool('gone', { x: integer }),
  contract({ reply: string }),
)
const AFTER = manifest(
  tool('find', { id: string }),
  tool(
    'refund',
    { order_id: string, amount: string, currency: { ...string, default: 'usd', maxLength: 3 } },
    ['currency'],
    { additionalProperties: false },
  ),
  contract({ answer: string }),
)

t.test('the rules between two manifests', async (t) => {
  t.test('are listed by tool and in the order to be applied, the output last', async (t) => {
    const rules = listRepairRules(BEFORE, AFTER)
    t.same(
      rules.map((each) => [each.rule_index, each.rule_type, each.component_name, each.details]),
      [
        [0, 'rename_tool', 'lookup', { from: 'lookup', to: 'find' }],
        [1, 'rename_param', 'refund', { from: 'order', to: 'order_id' }],
        [2, 'drop_param', 'refund', { param: 'note' }],
        [3, 'add_default', 'refund', { param: 'currency', value: 'usd' }],
        [4, 'coerce', 'refund', { param: 'amount', type: 'string' }],
        [5, 'rename_param', 'answer', { from: 'reply', to: 'answer' }],
      ],
    )
  })

  t.test('are none between a manifest and itself', async (t) => {
    t.same(listRepairRules(BEFORE, BEFORE), [])
  })

  t.test('have one list and one hash whatever the order of components', async (t) => {
    fc.assert(
      fc.property(manifests(), manifests(), (before, after) => {
        const rules = listRepairRules(before, after)
        const turned = listRepairRules(
          manifest(...before.components.toReversed()),
          manifest(...after.components.toReversed()),
        )
        t.same(turned, rules)
        t.equal(hashRepairRules(turned), hashRepairRules(rules))
      }),
    )
  })

  t.test('have another hash by another rule, and by another engine', async (t) => {
    const rules = listRepairRules(BEFORE, AFTER)
    const hash = hashRepairRules(rules)
    t.match(hash, /^[0-9a-f]{64}$/)
    t.not(hashRepairRules(rules.slice(1)), hash)
    t.not(hashRepairRules(rules, 'another'), hash)
    const changed = rules.map((each) =>
      each.rule.rule === 'add_default' ? { ...each, rule: { ...each.rule, value: 'eur' } } : each,
    )
    t.not(hashRepairRules(changed), hash)
  })
})
