import t from 'tap'
import {
  checkMetrics,
  isMixShift,
  worstTraces,
} from '../../../../jobs/rules/regression/metric-check.ts'
import {
  adjustForCount,
  compareArms,
  comparePairs,
  summarize,
} from '../../../../jobs/rules/regression/statistics.ts'
import type { Observation } from '../../../../jobs/rules/regression/statistics.ts'
import fc from '../../../support/property.ts'

function observations(values: readonly number[], more: Partial<Observation> = {}): Observation[] {
  return values.map((value, i) => ({
    trace_id: `t${i}`,
    session_id: null,
    task_id: null,
    value,
    ...more,
  }))
}

/** Student's sleep data (Biometrika 6, 1908); the expected values are those of R's t.test. */
const SLEEP = [
  [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2],
  [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
] as const

t.test('traces without sessions are tested as Welch has it', async (t) => {
  const { delta, p_value, freedom, ci } = compareArms(
    observations(SLEEP[0]),
    observations(SLEEP[1]),
  )
  t.match(
    [delta, p_value, freedom, ...ci].map(rounded(4)),
    [1.58, 0.0794, 17.7765, -0.2055, 3.3655],
  )
})

t.test('pairs are tested on their differences', async (t) => {
  const [source, replay] = SLEEP.map((values) => observations(values)) as [
    Observation[],
    Observation[],
  ]
  const pairs = source.map((each, i) => ({ source: each, replay: replay[i] as Observation }))
  const { p_value, freedom, ci } = comparePairs(pairs)
  t.match([p_value, freedom, ...ci].map(rounded(4)), [0.0028, 9, 0.7001, 2.4599])
})

t.test('many equal traces of one session tell no more than one', async (t) => {
  const arm = (shift: number, copies: number) =>
    SLEEP[0].flatMap((value, i) =>
      observations(Array<number>(copies).fill(value + shift), { session_id: `s${i}` }),
    )
  const [once, often] = [1, 7].map((n) => compareArms(arm(0, n), arm(1, n)).p_value)
  t.equal(rounded(9)(once ?? 0), rounded(9)(often ?? 1))
})

t.test('a single session shows nothing, however many traces it has', async (t) => {
  const arm = (value: number) =>
    [0, 0.1, 0.2].flatMap((more) =>
      observations(Array<number>(20).fill(value + more), { session_id: 's' }),
    )
  t.equal(compareArms(arm(0.8), arm(0.1)).p_value, 1)
  const [check] = checkMetrics([
    { metric: 'score', gating: true, baseline: arm(0.8), candidate: arm(0.1), pairs: [] },
  ])
  t.match(check, { verdict: 'inconclusive', p_value: null, mde: null })
})

t.test('repetitions of one task tell as much as other traces', async (t) => {
  const arm = (task_id: string | null) => varied(0.8, 60).map((each) => ({ ...each, task_id }))
  t.same(summarize(arm('only')).variance, summarize(arm(null)).variance)
})

t.test('traces of one task are one cluster, whatever their sessions', async (t) => {
  const arm = (task: (i: number) => string | null) =>
    varied(0.8, 60).map((each, i) => ({ ...each, session_id: `s${i}`, task_id: task(i) }))
  t.match(summarize(arm((i) => `task${i % 12}`)), { clusters: 12, freedom: 11 })
  t.match(summarize(arm(() => null)), { clusters: 60 })
  t.match(summarize(arm(() => 'only')), { clusters: 60 }, 'one task is what is measured')
  const mixed = arm((i) => (i < 30 ? `task${i % 3}` : null))
  t.match(summarize(mixed), { clusters: 33 })
})

t.test('inside a stratum of one task the clusters are sessions', async (t) => {
  const arm = () =>
    ['x', 'y'].flatMap((task_id) =>
      varied(0.8, 40).map((each, i) => ({
        ...each,
        trace_id: `${task_id}${i}`,
        session_id: `${task_id}${i >> 1}`,
        task_id,
      })),
    )
  t.match(compareArms(arm(), arm()), { design: 'stratified', baseline: { clusters: 40 } })
})

t.test('p-values are adjusted as Benjamini and Hochberg have it', async (t) => {
  const adjusted = adjustForCount([0.01, 0.04, 0.03, 0.005])
  t.match(adjusted.map(rounded(6)), [0.02, 0.04, 0.04, 0.02])
  t.same(adjustForCount([]), [])
})

t.test('the order of traces changes nothing', async () => {
  const value = fc.double({ min: 0, max: 1, noNaN: true })
  const traces = fc.array(
    fc.record({
      value,
      session_id: fc.constantFrom(null, 'a', 'b', 'c'),
      task_id: fc.constantFrom(null, 'x', 'y'),
    }),
    { minLength: 2, maxLength: 40 },
  )
  fc.assert(
    fc.property(traces, traces, fc.infiniteStream(fc.nat()), (a, b, places) => {
      const named = [a, b].map((arm) => arm.map((each, i) => ({ ...each, trace_id: `t${i}` })))
      const mixed = named.map((arm) => {
        const keyed = arm.map((each) => [places.next().value as number, each] as const)
        return keyed.sort((x, y) => x[0] - y[0]).map(([, each]) => each)
      })
      const [one, other] = [named, mixed].map(([x, y]) => compareArms(x ?? [], y ?? []))
      return Math.abs((one?.delta ?? 0) - (other?.delta ?? 1)) < 1e-9
    }),
  )
})

t.test('a metric has a verdict and says what it would take where it has none', async (t) => {
  const check = (before: number[], after: number[]) =>
    checkMetrics([
      {
        metric: 'score',
        gating: true,
        baseline: observations(before),
        candidate: observations(after),
        pairs: [],
      },
    ])[0]
  const spread = (mean: number, n: number) =>
    Array.from({ length: n }, (_, i) => mean + (i % 2 ? 0.1 : -0.1))
  t.equal(check(spread(0.8, 60), spread(0.6, 60))?.verdict, 'regressed')
  t.equal(check(spread(0.6, 60), spread(0.8, 60))?.verdict, 'improved')
  t.equal(check(spread(0.8, 60), spread(0.8, 60))?.verdict, 'pass')
  t.equal(check(spread(0.8, 60), spread(0.79, 60))?.needed_n, null, 'a pass needs no more traces')
  const few = check(spread(0.8, 60), spread(0.6, 29))
  t.match(few, { verdict: 'inconclusive', p_value: null, ci: null, needed_n: 50 })
  t.match(check([0.5], [0.4]), { verdict: 'inconclusive', mde: null, needed_n: 30 })
})

t.test('a metric without a change tells the drop it could have shown', async (t) => {
  const names = (n: number) => Array.from({ length: n }, (_, i) => `m${i}`)
  const arms = { baseline: varied(0.8, 60, 0.2), candidate: varied(0.8, 60, 0.2) }
  const checks = (n: number) =>
    checkMetrics(names(n).map((metric) => ({ metric, gating: true, ...arms, pairs: [] })))
  const [alone] = checks(1)
  // se = .2 * sqrt(2 / 59), and 1.9803 + .8446 of it by the t of 118 degrees of freedom.
  t.equal(rounded(4)(alone?.mde ?? 0), 0.104)
  t.equal(alone?.verdict, 'inconclusive')
  const [among] = checks(8)
  t.ok((among?.mde ?? 0) > (alone?.mde ?? 1), 'among eight it takes more')
  const precise = { baseline: varied(0.8, 60, 0.01), candidate: varied(0.8, 60, 0.01) }
  const [fine] = checkMetrics([{ metric: 'm', gating: true, ...precise, pairs: [] }])
  t.ok(fine?.mde && fine.mde > 0.03, 'a smaller change than .03 is none')
  const equal = { baseline: varied(1, 60, 0), candidate: varied(1, 60, 0) }
  const [flat] = checkMetrics([{ metric: 'm', gating: true, ...equal, pairs: [] }])
  t.match(flat, { verdict: 'pass', mde: null }, 'equal values tell no variance')
})

t.test('a changed mix of tasks is no change of the agent', async (t) => {
  const arm = (easy: number, hard: number) => [
    ...varied(0.9, easy).map((o) => ({ ...o, task_id: 'easy', trace_id: `e${o.trace_id}` })),
    ...varied(0.5, hard).map((o) => ({ ...o, task_id: 'hard' })),
  ]
  const [check] = checkMetrics([
    {
      metric: 'score',
      gating: true,
      baseline: arm(100, 20),
      candidate: arm(40, 80),
      pairs: [],
    },
  ])
  t.match(check, { design: 'stratified', verdict: 'pass' })
  t.ok(check && check.raw_delta < -0.1 && isMixShift(check))
})

t.test('samples are the worst traces, one of each session', async (t) => {
  const traces = [
    { trace_id: 'a', session_id: 's', task_id: null, value: 0.1 },
    { trace_id: 'b', session_id: 's', task_id: null, value: 0 },
    { trace_id: 'c', session_id: null, task_id: null, value: 0.5 },
  ]
  t.same(worstTraces(traces), ['b', 'c'])
})

function varied(mean: number, n: number, by = 0.05) {
  return observations(Array.from({ length: n }, (_, i) => mean + (i % 2 ? by : -by)))
}

function rounded(digits: number) {
  return (value: number) => Math.round(value * 10 ** digits) / 10 ** digits
}
