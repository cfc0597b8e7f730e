import t from 'tap'
import { openLengthBins, withEmptyBins } from '../../../../jobs/rules/datasets/length-bins.ts'

t.test('bins lie side by side, each at most an eighth wide, and hold every length', async (t) => {
  const all = openLengthBins()
  for (let n = 0; n <= 5000; n++) all.add(n, 1)
  let next = 0
  for (const { from, to, rows } of all.bins()) {
    t.equal(from, next)
    t.ok(from < 16 ? from === to : to - from < from / 8, `${from} to ${to}`)
    if (to <= 5000) t.equal(rows, to - from + 1)
    next = to + 1
  }
  t.ok(next > 5000)
})

t.test('bins of the longest lengths are few', async (t) => {
  const all = openLengthBins()
  for (let exponent = 0; exponent < 31; exponent++) all.add(2 ** exponent, 2)
  t.equal(all.bins().length, 31)
  t.same(all.bins().at(-1), { from: 2 ** 30, to: 2 ** 30 + 2 ** 27 - 1, rows: 2 })
})

t.test('bins without rows are filled in between the first and the last', async (t) => {
  const all = openLengthBins()
  for (const length of [14, 18, 23]) all.add(length, 1)
  t.same(withEmptyBins(all.bins()), [
    { from: 14, to: 14, rows: 1 },
    { from: 15, to: 15, rows: 0 },
    { from: 16, to: 17, rows: 0 },
    { from: 18, to: 19, rows: 1 },
    { from: 20, to: 21, rows: 0 },
    { from: 22, to: 23, rows: 1 },
  ])
  t.same(withEmptyBins([]), [])
})
