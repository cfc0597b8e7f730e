import t from 'tap'
import { retryDelaySeconds } from '../../../../jobs/rules/webhooks/backoff.ts'
import fc from '../../../support/property.ts'

t.test('the delay is the schedule spread by a fifth', async (t) => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 5 }),
      (unit, attempt) => {
        const base = attempt === 1 ? 30 : 300
        const delay = retryDelaySeconds([30, 300], attempt, unit)
        return delay >= 0.8 * base && delay <= 1.2 * base * (1 + Number.EPSILON)
      },
    ),
  )
  t.equal(retryDelaySeconds([30, 300], 1, 0.5), 30)
})

t.test('a receiver may ask for up to twice the base, not for less than it', async (t) => {
  t.equal(retryDelaySeconds([30], 1, 0, 45), 45)
  t.equal(retryDelaySeconds([30], 1, 0, 1), 30)
  t.equal(retryDelaySeconds([30], 1, 0, 86_400), 60)
})
