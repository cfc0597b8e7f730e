import t from 'tap'
import { takeToken } from '../../../../jobs/rules/access/token-bucket.ts'
import fc from '../../../support/property.ts'

const rates = fc.record({
  perMinute: fc.integer({ min: 1, max: 5000 }),
  burst: fc.integer({ min: 1, max: 300 }),
})
/** Milliseconds between calls. */
const gaps = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 400 })

t.test('a new bucket admits exactly its burst at once', async (t) => {
  fc.assert(
    fc.property(rates, fc.nat(1e9), (rate, nowMs) => {
      let fullAtMs = 0
      for (let left = rate.burst - 1; left >= 0; left--) {
        const taken = takeToken(rate, fullAtMs, nowMs)
        if (!taken.admitted || taken.remaining !== left) return false
        fullAtMs = taken.fullAtMs
      }
      return !takeToken(rate, fullAtMs, nowMs).admitted
    }),
  )
  t.pass()
})

t.test('no window admits more than the burst and what flows in meanwhile', async (t) => {
  fc.assert(
    fc.property(rates, gaps, (rate, steps) => {
      const admittedAt: number[] = []
      let [nowMs, fullAtMs] = [0, 0]
      for (const step of steps) {
        nowMs += step
        const taken = takeToken(rate, fullAtMs, nowMs)
        fullAtMs = taken.fullAtMs
        if (taken.admitted) admittedAt.push(nowMs)
      }
      return admittedAt.every((from, i) =>
        admittedAt
          .slice(i)
          .every((to, n) => n + 1 <= rate.burst + ((to - from) / 60_000) * rate.perMinute + 1e-3),
      )
    }),
  )
  t.pass()
})

t.test('after the wait it names, a refused call is admitted, and not before', async (t) => {
  fc.assert(
    fc.property(rates, gaps, (rate, steps) => {
      let [nowMs, fullAtMs] = [0, 0]
      for (const step of steps) {
        nowMs += step / 1000
        const taken = takeToken(rate, fullAtMs, nowMs)
        fullAtMs = taken.fullAtMs
        if (taken.admitted) continue
        if (!takeToken(rate, fullAtMs, nowMs + taken.waitMs).admitted) return false
        if (takeToken(rate, fullAtMs, nowMs + taken.waitMs * 0.99 - 0.01).admitted) return false
      }
      return true
    }),
  )
  t.pass()
})
