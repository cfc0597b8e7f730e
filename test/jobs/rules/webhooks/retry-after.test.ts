import t from 'tap'
import { retryAfter } from '../../../../jobs/rules/webhooks/retry-after.ts'
import fc from '../../../support/property.ts'

t.test('when to ask again', async (t) => {
  t.test('is the time such things still need', async (t) => {
    t.equal(retryAfter(0, 12.2), 13)
    t.equal(retryAfter(10, 12.2), 3)
  })

  t.test(
    'grows with the age of what takes longer than usual, or of which nothing is known',
    async (t) => {
      t.equal(retryAfter(100, 12), 10)
      t.equal(retryAfter(100, undefined), 10)
      t.equal(retryAfter(0, undefined), 1)
    },
  )

  t.test('is always a whole number of 1 to 60 seconds', async () => {
    const seconds = fc.double({ min: 0, max: 1e7, noNaN: true })
    fc.assert(
      fc.property(seconds, fc.option(seconds, { nil: undefined }), (age, usual) => {
        const answer = retryAfter(age, usual)
        return Number.isInteger(answer) && answer >= 1 && answer <= 60
      }),
    )
  })
})
