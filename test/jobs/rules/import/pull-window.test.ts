import t from 'tap'
import {
  EARLIEST,
  firstWindow,
  halfWindow,
  nextWindow,
  windowOfPage,
} from '../../../../jobs/rules/import/pull-window.ts'
import type { PullWindow } from '../../../../jobs/rules/import/pull-window.ts'
import fc from '../../../support/property.ts'

const at = (time: string) => new Date(`${time}Z`)
const since = at('2026-11-01T00:00:00')
const until = at('2026-11-21T12:00:00')

t.test('a pull begins with a day', async (t) => {
  const first = firstWindow(since, until)
  t.same(first, { from: since, to: at('2026-11-02T00:00:00'), rows: 0, seconds: 86_400 })
  const short = at('2026-11-01T00:00:01')
  t.same(firstWindow(since, short).to, short, 'or all of it')
})

t.test('after many records the next window is half as long, after few twice', async (t) => {
  const first = firstWindow(since, until)
  const hours = (rows: number) => {
    const next = nextWindow({ ...first, rows }, until)
    t.same(next?.from, first.to)
    return next && (next.to.getTime() - next.from.getTime()) / 3_600_000
  }
  t.equal(hours(100_001), 12)
  t.equal(hours(100_000), 24)
  t.equal(hours(1000), 24)
  t.equal(hours(999), 48)
  t.match(nextWindow({ ...first, rows: 999 }, until, 100), { seconds: 86_400 }, 'few are told')
  t.match(nextWindow({ ...first, rows: 99 }, until, 100), { seconds: 172_800 })
})

t.test('a window that begins again is its first half, down to a minute', async (t) => {
  let window: PullWindow | undefined = firstWindow(since, until)
  const lengths: number[] = []
  while (window) {
    lengths.push((window.to.getTime() - window.from.getTime()) / 1000)
    t.same(window.from, since)
    window = halfWindow({ ...window, rows: 5000 })
  }
  t.same(lengths.slice(0, 3), [86_400, 43_200, 21_600])
  t.ok((lengths.at(-1) ?? 0) >= 60)
})

t.test('a window of several pages begins again as short as one of them', async (t) => {
  const first = firstWindow(since, until)
  const seconds = (pages: number, window = first) => windowOfPage(window, pages)?.seconds
  t.equal(seconds(1), undefined)
  t.equal(seconds(2), 43_200)
  t.equal(seconds(3), 21_600)
  t.equal(seconds(4), 21_600)
  t.same(windowOfPage(first, 5)?.from, since)
  t.ok((seconds(Infinity) ?? 0) >= 60, 'and no shorter than a minute')
  const minute = firstWindow(since, new Date(since.getTime() + 60_000))
  t.equal(seconds(2, minute), undefined)
})

t.test('windows cover the range without gap or overlap, whatever they give', async (t) => {
  const times = fc.integer({ min: EARLIEST.getTime(), max: until.getTime() - 1 })
  const rows = fc.constantFrom(0, 500, 50_000, 200_000)
  const range = fc.tuple(times, fc.array(rows, { minLength: 1, maxLength: 9 }), fc.nat(3))
  fc.assert(
    fc.property(range, ([from, given, halves]) => {
      const begin = new Date(from)
      let window: PullWindow | undefined = firstWindow(begin, until)
      let expected = begin
      for (let i = 0; window && i < 3000; i++) {
        const shorter: PullWindow | undefined = i % 4 < halves ? halfWindow(window) : undefined
        window = shorter ?? window
        if (window.from.getTime() !== expected.getTime() || window.to <= window.from) return false
        expected = window.to
        window = nextWindow({ ...window, rows: given[i % given.length] as number }, until)
      }
      return expected <= until && (window !== undefined || expected.getTime() === until.getTime())
    }),
  )
  let count = 0
  let window: PullWindow | undefined = firstWindow(EARLIEST, until)
  for (; window; window = nextWindow(window, until)) count++
  t.ok(count < 60, 'years without records cost few requests')
})
