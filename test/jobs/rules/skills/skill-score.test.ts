import t from 'tap'
import { scoreSkill, wilsonBound } from '../../../../jobs/rules/skills/skill-score.ts'
import type { SkillEvidence } from '../../../../jobs/rules/skills/skill-score.ts'
import fc from '../../../support/property.ts'

const NOTHING: SkillEvidence = { bench: null, live: null, rating: null }
const bench = (passed: number, cases: number, more = {}) => ({
  bench: { cases, passed, flippedToFail: 0, isReproduced: false, ...more },
})
const live = (passed: number, traces: number) => ({ live: { traces, passed } })
const rating = (mean: number, count: number) => ({ rating: { count, mean } })
const scoreOf = (evidence: Partial<SkillEvidence>) => scoreSkill({ ...NOTHING, ...evidence })
const ROUNDING = 1e-12
const reproduced = { isReproduced: true }

t.test('the worked scores come out to four decimals', async (t) => {
  const cases: [Partial<SkillEvidence>, number | null, number][] = [
    [{}, null, 0],
    [live(1, 1), 0.2065, 1],
    [live(10, 10), 0.7225, 1],
    [live(190, 200), 0.9104, 1],
    [bench(18, 20), 0.699, 1],
    [bench(18, 20, { flippedToFail: 2 }), 0.599, 1],
    [{ ...bench(18, 20, reproduced), ...live(270, 300), ...rating(0.86, 80) }, 0.771, 3],
    [{ ...bench(48, 50, reproduced), ...live(960, 1000), ...rating(0.9, 500) }, 0.8927, 3],
  ]
  for (const [evidence, score, tier] of cases) t.match(scoreOf(evidence), { score, tier })
})

t.test('each leg is told, and one without evidence is null', async (t) => {
  t.same(scoreOf({ ...bench(18, 20), ...live(0, 0), ...rating(0.86, 80) }), {
    tier: 2,
    score: 0.7198,
    bench: 0.699,
    live: null,
    rating: 0.7674,
  })
})

t.test('harm outweighs passes, down to nothing', async (t) => {
  t.match(scoreOf(bench(1, 20, { flippedToFail: 5 })), { bench: 0, score: 0 })
})

t.test('two legs with enough evidence support a skill, whatever the third lacks', async (t) => {
  const tiers: [Partial<SkillEvidence>, number][] = [
    [{ ...bench(9, 10), ...live(19, 20) }, 2],
    [{ ...bench(9, 10), ...live(18, 19) }, 1],
    [{ ...bench(8, 9), ...live(19, 20) }, 1],
    [{ ...bench(9, 10), ...rating(0.5, 20) }, 2],
    [{ ...live(19, 20), ...rating(0.5, 20) }, 2],
    [{ ...live(19, 20), ...rating(0.5, 19) }, 1],
    [{ ...bench(9, 10), ...live(19, 20), ...rating(1, 1) }, 2],
    [{ ...live(900, 1000) }, 1],
  ]
  for (const [evidence, tier] of tiers) t.match(scoreOf(evidence), { tier }, { evidence })
})

t.test('verified is what another one has reproduced and what is used', async (t) => {
  const tiers: [Partial<SkillEvidence>, number][] = [
    [{ ...bench(18, 20, reproduced), ...live(20, 30) }, 3],
    [{ ...bench(18, 20), ...live(20, 30) }, 2],
    [{ ...bench(17, 19, reproduced), ...live(20, 30) }, 2],
    [{ ...bench(18, 20, reproduced), ...live(20, 29) }, 2],
    [bench(18, 20, reproduced), 1],
  ]
  for (const [evidence, tier] of tiers) t.match(scoreOf(evidence), { tier }, { evidence })
})

t.test('a score is between 0 and 1, and more of the same lowers no leg', async () => {
  const counts = fc.record({
    n: fc.integer({ min: 1, max: 1_000_000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    more: fc.integer({ min: 1, max: 1000 }),
  })
  fc.assert(
    fc.property(counts, ({ n, share, more }) => {
      const bound = wilsonBound(share, n)
      const { score } = scoreOf({ ...rating(share, n), ...bench(Math.round(share * n), n) })
      const isInside =
        bound >= 0 && bound <= share + ROUNDING && score !== null && score >= 0 && score <= 1
      return isInside && wilsonBound(share, n + more) >= bound - ROUNDING
    }),
  )
})

t.test('only a new skill has no score', async () => {
  const count = fc.nat({ max: 50 })
  fc.assert(
    fc.property(count, count, count, (cases, traces, ratings) => {
      const { tier, score } = scoreOf({
        ...bench(cases, cases),
        ...live(traces, traces),
        ...rating(1, ratings),
      })
      return (tier === 0) === (score === null)
    }),
  )
})
