import t from 'tap'
import { HISTOGRAM_BINS, summarize } from '../../../../jobs/rules/evals/score-summary.ts'
import type { CellSums } from '../../../../jobs/rules/evals/score-summary.ts'
import fc from '../../../support/property.ts'

interface Scored {
  value: number
  session: string
}

/** The sums of a cell, in one pass over its scores. */
function sumsOf(scores: readonly Scored[]): CellSums {
  const values = scores.map(({ value }) => value)
  const histogram = Array.from({ length: HISTOGRAM_BINS }, () => 0)
  for (const value of values) {
    const bin = Math.min(HISTOGRAM_BINS - 1, Math.floor(value * HISTOGRAM_BINS))
    histogram[bin] = (histogram[bin] as number) + 1
  }
  const sessions = [...Map.groupBy(scores, ({ session }) => session).values()].map((group) => ({
    s: group.reduce((sum, { value }) => sum + value, 0),
    n: group.length,
  }))
  const total = (of: (session: { s: number; n: number }) => number) =>
    sessions.reduce((sum, session) => sum + of(session), 0)
  return {
    n: values.length,
    passed: values.filter((value) => value >= 0.7).length,
    sum: values.reduce((sum, value) => sum + value, 0),
    sum_squares: values.reduce((sum, value) => sum + value * value, 0),
    min: Math.min(...values),
    max: Math.max(...values),
    histogram,
    clusters: sessions.length,
    cluster_ss: total(({ s }) => s * s),
    cluster_sn: total(({ s, n }) => s * n),
    cluster_nn: total(({ n }) => n * n),
  }
}

const near = (a: number | null, b: number) => a !== null && Math.abs(a - b) < 1e-6

t.test('a summary', async (t) => {
  const value = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1))
  const scored = fc.record({ value, session: fc.constantFrom('a', 'b', 'c', 'd', 'e') })
  const scores = fc.array(scored, { minLength: 2, maxLength: 60 })

  t.test('has mean and deviation as computed from the scores themselves', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const { mean, stddev, count } = summarize(sumsOf(scores))
        const expected = scores.reduce((sum, { value }) => sum + value, 0) / scores.length
        const squares = scores.reduce((sum, { value }) => sum + (value - expected) ** 2, 0)
        return (
          count === scores.length &&
          near(mean, expected) &&
          near(stddev, Math.sqrt(squares / (scores.length - 1)))
        )
      }),
    )
  })

  t.test('has an interval of s / sqrt(n) where every trace is a session of its own', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const apart = scores.map(({ value }, i) => ({ value, session: String(i) }))
        const { mean, stddev, ci95_low, ci95_high } = summarize(sumsOf(apart))
        const half = (1.959963984540054 * (stddev as number)) / Math.sqrt(apart.length)
        return near(ci95_low, mean - half) && near(ci95_high, mean + half)
      }),
    )
  })

  t.test('has an interval by sessions, as in the formula', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const { mean, ci95_low } = summarize(sumsOf(scores))
        const sessions = [...Map.groupBy(scores, ({ session }) => session).values()]
        const count = sessions.length
        if (count < 2) return ci95_low === null
        const spread = sessions.reduce(
          (sum, group) => sum + group.reduce((s, { value }) => s + value - mean, 0) ** 2,
          0,
        )
        const variance = ((count / (count - 1)) * spread) / scores.length ** 2
        return near(ci95_low, mean - 1.959963984540054 * Math.sqrt(variance))
      }),
    )
  })

  t.test(
    'has percentiles within a bin of the true ones, in order, and within the range',
    async () => {
      fc.assert(
        fc.property(scores, (scores) => {
          const { p10, p50, p90, min, max } = summarize(sumsOf(scores))
          const values = scores.map(({ value }) => value).sort((a, b) => a - b)
          const truth = (p: number) =>
            values[Math.max(0, Math.ceil(p * values.length) - 1)] as number
          const close = (a: number, p: number) =>
            Math.abs(a - truth(p)) <= 1 / HISTOGRAM_BINS + 1e-9
          const inOrder = min <= p10 && p10 <= p50 && p50 <= p90 && p90 <= max
          return inOrder && close(p10, 0.1) && close(p50, 0.5) && close(p90, 0.9)
        }),
      )
    },
  )

  t.test('of one score has no deviation and no interval', async (t) => {
    t.match(summarize(sumsOf([{ value: 0.4, session: 'a' }])), {
      mean: 0.4,
      stddev: null,
      ci95_low: null,
      ci95_high: null,
      p50: 0.4,
    })
  })
})
