import t from 'tap'
import { isTooDeep, MAX_DEPTH } from '../../../../jobs/rules/core/depth.ts'

t.test('a value is too deep from one level more than the greatest depth on', async (t) => {
  for (const wrap of [(inner: unknown) => [1, inner], (inner: unknown) => ({ a: 1, b: inner })]) {
    const nested = (levels: number) => {
      let value: unknown = 'leaf'
      for (let level = 0; level < levels; level++) value = wrap(value)
      return value
    }
    t.notOk(isTooDeep(nested(0)))
    t.notOk(isTooDeep(nested(MAX_DEPTH)))
    t.ok(isTooDeep(nested(MAX_DEPTH + 1)))
    t.ok(isTooDeep(nested(1_000_000)), 'and costs no stack')
  }
  t.notOk(isTooDeep(null))
})
