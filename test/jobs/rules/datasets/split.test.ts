import t from 'tap'
import { splitOf } from '../../../../jobs/rules/datasets/split.ts'
import type { Anchored } from '../../../../jobs/rules/datasets/split.ts'
import fc from '../../../support/property.ts'

const alone: Anchored = {
  trace_id: 't',
  task_id: null,
  session_id: null,
  parent_trace_id: null,
  parent_task_id: null,
  parent_session_id: null,
  first: null,
}
const halves = { seed: 0, split: { train: 0.5, validation: 0, test: 0.5 } }
const key = fc.option(fc.string({ minLength: 1, maxLength: 3 }), { nil: null })

t.test('attempts at one task are on one side, whatever else they say', async (t) => {
  const trace = fc.record({
    trace_id: fc.string(),
    session_id: key,
    parent_trace_id: key,
    parent_task_id: key,
    parent_session_id: key,
    first: fc.constantFrom(null, alone),
  })
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), trace, trace, (task_id, one, other) => {
      t.equal(splitOf({ ...one, task_id }, halves), splitOf({ ...other, task_id }, halves))
    }),
  )
})

t.test('a replay without a task is on the side of the trace that was replayed first', async (t) => {
  const first = fc.record({
    trace_id: fc.string({ minLength: 1 }),
    task_id: key,
    session_id: key,
    parent_trace_id: key,
    parent_task_id: key,
    parent_session_id: key,
  })
  fc.assert(
    fc.property(first, key, (first, session_id) => {
      const replay = { ...alone, trace_id: 'replay', session_id, parent_trace_id: 'source', first }
      t.equal(splitOf(replay, halves), splitOf({ ...first, first: null }, halves))
    }),
  )
})

t.test('the stated fractions come out', async (t) => {
  const split = { train: 0.7, validation: 0.1, test: 0.2 }
  const counts = [0, 0, 0]
  for (let i = 0; i < 20_000; i++) {
    const side = splitOf({ ...alone, task_id: `task ${i}` }, { seed: 3, split })
    counts[side] = (counts[side] as number) + 1
  }
  // Three standard deviations of a binomial count.
  for (const [i, share] of [0.7, 0.1, 0.2].entries()) {
    const error = Math.abs((counts[i] as number) / 20_000 - share)
    t.ok(error < 3 * Math.sqrt((share * (1 - share)) / 20_000), `${i}: ${counts[i]}`)
  }
})

t.test('a split of fraction 0 gets nothing, and another seed deals anew', async (t) => {
  const sides = (seed: number) =>
    Array.from({ length: 200 }, (_, i) =>
      splitOf({ ...alone, trace_id: `${i}` }, { ...halves, seed }),
    )
  t.same(new Set(sides(0)), new Set([0, 2]))
  t.same(sides(0), sides(0))
  t.notSame(sides(0), sides(1))
})
