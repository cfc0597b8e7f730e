import t from 'tap'
import {
  ARM_OUTCOMES,
  countCases,
  summarizeBenchmark,
} from '../../../../jobs/rules/skills/benchmark-run.ts'
import fc from '../../../support/property.ts'

const arm = fc.constantFrom(...ARM_OUTCOMES)
const arms = fc.record({ with: fc.nat(1000), without: fc.nat(1000) })
const cases = fc.array(
  fc.record({
    case_id: fc.string(),
    with: arm,
    without: arm,
    tokens: fc.option(arms, { nil: undefined }),
  }),
  { minLength: 1, maxLength: 40 },
)

t.test('the counts of any run fit together', async (t) => {
  fc.assert(
    fc.property(cases, (run) => {
      const counts = countCases(run)
      const { compared, errored, passed_with, passed_without, flipped_to_fail } = counts
      t.ok(compared + errored <= run.length)
      t.ok(passed_with <= compared && passed_without <= compared)
      t.ok(flipped_to_fail <= Math.min(passed_without, compared - passed_with))
      t.equal(counts.tokens_with === null, counts.tokens_without === null)
      t.equal(counts.voided, errored * 4 > run.length)
      t.same(countCases(run.toReversed()), counts, 'whatever their order')
    }),
  )
})

t.test('the verdict says whether all compared cases passed with the skill', async (t) => {
  fc.assert(
    fc.property(cases, (run) => {
      const counts = countCases(run)
      const { verdict } = summarizeBenchmark(counts)
      const graded = run
        .filter((each) => ['passed', 'failed'].includes(each.with))
        .filter((each) => ['passed', 'failed'].includes(each.without))
        .map((each) => each.with === 'passed')
      if (counts.voided || graded.length === 0) t.equal(verdict, 'error')
      else if (graded.every(Boolean)) t.equal(verdict, 'pass')
      else t.equal(verdict, graded.some(Boolean) ? 'mixed' : 'fail')
    }),
  )
})

t.test(
  'figures are summed up over the cases that tell both, and are none without one',
  async (t) => {
    const both = { with: 'passed', without: 'passed' } as const
    const counts = countCases([
      { case_id: 'a', ...both, tokens: { with: 30, without: 20 } },
      { case_id: 'b', ...both, tokens: { with: 20, without: 20 } },
      { case_id: 'c', ...both },
      { case_id: 'd', with: 'errored', without: 'passed', tokens: { with: 900, without: 1 } },
    ])
    t.match(counts, { tokens_with: 50, tokens_without: 40, turns_with: null })
    t.match(summarizeBenchmark(counts), { tokens_delta_pct: 25, turns_delta_pct: null })
    const free = countCases([{ case_id: 'a', ...both, tokens: { with: 30, without: 0 } }])
    t.equal(summarizeBenchmark(free).tokens_delta_pct, null, 'nothing is no base')
  },
)
