import t from 'tap'
import { inTurns } from '../../api/in-turns.ts'

t.test('of many long works, one has a turn each time the event loop comes around', async (t) => {
  let round = 0
  let isOver = false
  function count() {
    round++
    if (!isOver) setImmediate(count)
  }
  const turns: { round: number; name: string }[] = []
  function* work(name: string) {
    for (let step = 0; step < 20; step++) {
      for (const start = performance.now(); performance.now() - start < 1;);
      turns.push({ round, name })
      yield
    }
    return name
  }
  setImmediate(count)
  const names = ['a', 'b', 'c', 'd', 'e']
  const works = names.map((name) => inTurns(work(name)))
  const begun = turns.length
  t.strictSame(await Promise.all(works), names)
  isOver = true
  const later = Map.groupBy(turns.slice(begun), ({ round }) => round)
  const together = [...later.values()].map((each) => new Set(each.map(({ name }) => name)))
  t.ok(together.length > names.length, `${together.length} rounds`)
  t.ok(
    together.every(({ size }) => size === 1),
    together.map((each) => [...each].join('')).join(' '),
  )
  const order = together.slice(0, names.length).map((each) => [...each].join(''))
  t.strictSame(order, names, 'first come, first served')
})
