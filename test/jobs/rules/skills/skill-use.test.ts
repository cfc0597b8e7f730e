import t from 'tap'
import { compareUses, rankUses } from '../../../../jobs/rules/skills/skill-use.ts'
import type { SkillUse } from '../../../../jobs/rules/skills/skill-use.ts'

/** A skill of whose judged traces so many passed. */
function useOf(name: string, passed: number, judged: number, more: Partial<SkillUse> = {}) {
  const pass_rate = judged === 0 ? null : passed / judged
  const pass_variance =
    judged < 2 ? null : ((passed / judged) * (1 - passed / judged) * judged) / (judged - 1)
  const told = { name, traces: judged, is_capped: false, judged, pass_rate, pass_variance }
  return { ...told, quality: pass_rate, tokens: 100, ...more }
}

t.test('few good traces come after many, and those with none last', async (t) => {
  const ranked = rankUses([
    useOf('none', 0, 0),
    useOf('bad', 0, 50),
    useOf('one', 1, 1),
    useOf('also none', 0, 0),
    useOf('many', 48, 50),
  ])
  t.same(
    ranked.map(({ use }) => use.name),
    ['many', 'one', 'bad', 'also none', 'none'],
  )
})

t.test('a difference counts as one when chance hardly makes it', async (t) => {
  t.match(compareUses(useOf('s', 50, 100), useOf('s', 80, 100)), { verdict: 'improved' })
  t.match(compareUses(useOf('s', 80, 100), useOf('s', 50, 100)), { verdict: 'worse' })
  t.match(compareUses(useOf('s', 50, 100), useOf('s', 55, 100)), { verdict: 'no_difference' })
  t.match(compareUses(useOf('s', 10, 10), useOf('s', 10, 10)), {
    p_value: 1,
    verdict: 'no_difference',
  })
  t.match(compareUses(useOf('s', 10, 10), useOf('s', 0, 10)), { verdict: 'worse' })
})

t.test('too few judged traces tell nothing, but the means are told', async (t) => {
  const compared = compareUses(useOf('s', 9, 9), useOf('s', 0, 100, { tokens: 90, quality: null }))
  t.same(compared, {
    pass_rate: -1,
    quality: null,
    tokens: -10,
    p_value: null,
    verdict: 'too_few',
  })
})
