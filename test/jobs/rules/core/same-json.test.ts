import t from 'tap'
import { isSameJson } from '../../../../jobs/rules/core/same-json.ts'
import fc from '../../../support/property.ts'

t.test('values are the same exactly when their JSON is', (t) => {
  const small = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value))
  fc.assert(
    fc.property(small, small, (one, other) => {
      t.ok(isSameJson(JSON.parse(one), JSON.parse(one)))
      t.equal(isSameJson(JSON.parse(one), JSON.parse(other)), one === other)
    }),
  )
  t.end()
})

t.test('order, names and kinds of containers tell values apart', (t) => {
  for (const [one, other] of [
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":1,"b":2}', '{"a":1}'],
    ['{"__proto__":1}', '{}'],
    ['{"__proto__":{}}', '{"__proto__":[]}'],
    ['{"0":1}', '[1]'],
    ['[1]', '{"0":1}'],
    ['{}', '[]'],
    ['[]', '[null]'],
    ['{"a":{}}', '{"a":null}'],
    ['1', '"1"'],
  ] as const) {
    t.notOk(isSameJson(JSON.parse(one), JSON.parse(other)), `${one} and ${other}`)
    t.ok(isSameJson(JSON.parse(one), JSON.parse(one)), one)
  }
  t.notOk(isSameJson(new Date(0), new Date(1)))
  t.notOk(isSameJson({}, new Date(1)))
  t.end()
})
