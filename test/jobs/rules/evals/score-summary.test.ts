import quantile from '@stdlib/stats-base-dists-t-quantile'
import t from 'tap'
import { HISTOGRAM_BINS, summarize } from '../../../../jobs/rules/evals/score-summary.ts'
import { CLUSTERS, coverages, coverOf, sumCell } from '../../../../ops/bench/interval-coverage.ts'
import { openSimulation } from '../../../../ops/bench/score-simulation.ts'
import fc from '../../../support/property.ts'

const RUNS = 2000
/** Three standard deviations of a share. */
const TOLERANCE = 3 * Math.sqrt((0.93 * 0.07) / RUNS)

/** As far as `half` to one side of the mean; no interval where that is nothing. */
const reaches = (bound: number | null, mean: number, half: number) =>
  Math.abs(half) < 5e-7 ? bound === null : near(bound, mean + half)
const near = (a: number | null, b: number) => a !== null && Math.abs(a - b) < 3e-6

t.test('a summary', async (t) => {
  const value = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1))
  const scored = fc.record({ value, cluster: fc.constantFrom('a', 'b', 'c', 'd', 'e') })
  const scores = fc.array(scored, { minLength: 3, maxLength: 60 })

  t.test('has mean and deviation as computed from the scores themselves', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const { mean, stddev, count } = summarize(sumCell(scores))
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

  t.test('has an interval of s / sqrt(n) where every trace is a cluster of its own', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const apart = scores.map(({ value }, i) => ({ value, cluster: String(i) }))
        const { mean, stddev, ci95_low, ci95_high } = summarize(sumCell(apart))
        const t = quantile(0.975, apart.length - 1)
        const half = (t * (stddev ?? 0)) / Math.sqrt(apart.length)
        return reaches(ci95_low, mean, -half) && reaches(ci95_high, mean, half)
      }),
    )
  })

  t.test('has an interval by clusters, as in the formula, from three on', async () => {
    fc.assert(
      fc.property(scores, (scores) => {
        const { mean, ci95_low } = summarize(sumCell(scores))
        const clusters = [...Map.groupBy(scores, ({ cluster }) => cluster).values()]
        const count = clusters.length
        if (count < 3) return ci95_low === null
        const spread = clusters.reduce(
          (sum, group) => sum + group.reduce((s, { value }) => s + value - mean, 0) ** 2,
          0,
        )
        const variance = ((count / (count - 1)) * spread) / scores.length ** 2
        return reaches(ci95_low, mean, -quantile(0.975, count - 1) * Math.sqrt(variance))
      }),
    )
  })

  t.test(
    'has percentiles within a bin of the true ones, in order, and within the range',
    async () => {
      fc.assert(
        fc.property(scores, (scores) => {
          const { p10, p50, p90, min, max } = summarize(sumCell(scores))
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

  t.test('has no interval where names mix', async (t) => {
    const sums = sumCell(['a', 'b', 'c'].map((cluster, i) => ({ cluster, value: i / 2 })))
    t.type(summarize(sums).ci95_low, 'number')
    t.match(summarize({ ...sums, names: 2 }), { mean: 0.5, ci95_low: null, ci95_high: null })
  })

  t.test('has no interval of no width', async (t) => {
    const of = (values: number[]) =>
      summarize(sumCell(values.map((value, i) => ({ value, cluster: String(Math.floor(i / 3)) }))))
    const alike = [0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7]
    t.match(of(alike), { mean: 0.7, ci95_low: null, ci95_high: null })
    t.match(of([1, 0, 1, 1, 1, 0, 0, 1, 1]), { ci95_low: null }, 'sessions that are alike')
    t.match(of([1, 0, 1, 1, 1, 1, 0, 1, 1]), { ci95_low: Number, ci95_high: Number })
  })

  t.test('has its averages to six digits', async (t) => {
    const sums = sumCell([0, 0.1, 1].map((value, i) => ({ cluster: String(i), value })))
    t.match(summarize(sums), {
      pass_rate: 0.333333,
      mean: 0.366667,
      stddev: 0.550757,
      ci95_low: -1.00149,
      ci95_high: 1.734823,
    })
  })

  t.test('of one score has no deviation and no interval', async (t) => {
    t.match(summarize(sumCell([{ value: 0.4, cluster: 'a' }])), {
      mean: 0.4,
      stddev: null,
      ci95_low: null,
      ci95_high: null,
      p50: 0.4,
    })
  })
})

for (const each of coverages.filter(({ isClaimed }) => isClaimed)) {
  for (const clusters of CLUSTERS) {
    t.test(
      `${each.name}: an interval of ${clusters} clusters holds the mean in 95 %`,
      async (t) => {
        const share = coverOf(openSimulation(clusters), each, clusters, RUNS)
        t.ok(share >= 0.93 - TOLERANCE && share <= 0.97 + TOLERANCE, `${share} of ${RUNS}`)
      },
    )
  }
}
