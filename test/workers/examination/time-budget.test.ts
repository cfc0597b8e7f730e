import t from 'tap'
import { openTimeBudget } from '../../../workers/examination/time-budget.ts'

t.test('the time that validations of a schema may take', async (t) => {
  let wall = 0
  let cpu = 0
  const budget = () => openTimeBudget([() => wall, () => cpu])
  const take =
    (wallMs: number, cpuMs = wallMs) =>
    () => {
      wall += wallMs
      cpu += cpuMs
    }

  t.test('is a millisecond for each, and a second for all', async (t) => {
    const quick = budget()
    for (let i = 0; i < 5000; i++) quick.spend(take(1))
    t.notOk(quick.isUsedUp())
    t.equal(
      quick.spend(() => 'found'),
      'found',
    )

    const slow = budget()
    for (let i = 0; i < 11; i++) slow.spend(take(100))
    t.notOk(slow.isUsedUp(), 'a second of wall time')
    for (let i = 0; i < 10; i++) slow.spend(take(100))
    t.notOk(slow.isUsedUp())
    slow.spend(take(100))
    t.ok(slow.isUsedUp(), 'and one of processor time')
  })

  t.test('is not used up while the processor works for others', async (t) => {
    const delayed = budget()
    for (let i = 0; i < 100; i++) delayed.spend(take(1000, 1))
    t.notOk(delayed.isUsedUp())
  })
})
