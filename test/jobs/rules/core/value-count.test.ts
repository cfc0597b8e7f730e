import t from 'tap'
import { holdsMoreValues } from '../../../../jobs/rules/core/value-count.ts'

t.test('values are counted with all that they hold, wherever one stands', (t) => {
  const shared = { a: 1, b: [null] }
  for (const [value, count] of [
    [null, 1],
    ['text, with [commas]', 1],
    [[], 1],
    [[1, 2], 3],
    [{ a: [], b: {} }, 3],
    [shared, 4],
    [[shared, shared], 9],
  ] as const) {
    t.notOk(holdsMoreValues(value, count), JSON.stringify(value))
    t.ok(holdsMoreValues(value, count - 1), JSON.stringify(value))
  }
  t.end()
})
