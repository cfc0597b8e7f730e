import t from 'tap'
import { counterfactual } from '../../../../jobs/rules/evals/counterfactual.ts'
import { DEFAULT_POLICY, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { JudgedScore } from '../../../../jobs/rules/evals/quality.ts'
import { decide } from '../../../../jobs/rules/evals/verdict.ts'
import type { Evidence } from '../../../../jobs/rules/evals/evidence.ts'
import { custom, evidenceOf, human, scoreOf } from '../../../support/evidence.ts'
import fc from '../../../support/property.ts'

const policy = DEFAULT_POLICY.settings

t.test('the counterfactual', async (t) => {
  const told = (scores: JudgedScore[], more: Partial<Evidence> = {}) => {
    const evidence = evidenceOf(scores, more)
    return counterfactual(evidence, policy, decide(evidence, policy))
  }
  const judge = (value: number, name = 'helpfulness') => scoreOf(value, { name })

  t.test('names the score that has to move least, and to where', async (t) => {
    t.equal(told([judge(0.5)]), 'keep if helpfulness >= 0.66')
    t.equal(told([judge(0.9)]), 'keep with review if helpfulness < 0.65')
    t.equal(told([judge(0.1)]), 'keep with review if helpfulness >= 0.32')
    t.equal(told([judge(0.2), judge(0.9, 'brevity')]), 'keep if helpfulness >= 0.42')
    const conflict = [scoreOf(0.9, human), judge(0.3)]
    t.equal(told(conflict), 'keep if helpfulness >= 0.4')
  })

  t.test('names what was found in the trace itself before any score', async (t) => {
    const good = [judge(0.9)]
    t.equal(
      told(good, { malformed: 'malformed.empty' }),
      'keep if the conversation were well formed',
    )
    t.equal(told(good, { duplicate_of: 't1' }), 'keep if it were not a copy of t1')
    t.equal(told(good, { forbidden: 'policy.consent' }), 'keep if training on it were allowed')
    t.equal(told(good, { tool_error_count: 2 }), 'keep if no tool call had failed')
    const contract = { subject: 'answer', rerunnable: true }
    t.equal(told(good, { contract }), 'keep if the output kept its contract')
  })

  t.test('is null where no single change makes another verdict', async (t) => {
    t.equal(told([], { scores: [] }), null)
    const people = ['a', 'b', 'c'].map((name) => scoreOf(0, { ...human, name }))
    t.equal(told(people), null)
  })
})

t.test('what the counterfactual says of a score comes true', async () => {
  const score = fc
    .record({
      kind: fc.constantFrom({}, human, custom),
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ kind, name, value }) => scoreOf(value, { ...kind, name }))
  const scores = fc.uniqueArray(score, { minLength: 1, maxLength: 4, selector: ({ name }) => name })
  const preset = fc.constantFrom('strict' as const, 'default' as const, 'permissive' as const)
  let checked = 0
  fc.assert(
    fc.property(scores, preset, (scores, preset) => {
      const settings = resolvePolicy({ preset })
      const evidence = evidenceOf(scores)
      const before = decide(evidence, settings)
      const text = counterfactual(evidence, settings, before)
      const said = /^(\w+)( with review)? if (\w) (>=|<) ([\d.]+)$/.exec(text ?? '')
      if (!said) return text === null
      const [, verdict, review, name, sign, bound] = said
      const value = sign === '<' ? Math.max(0, Number(bound) - 0.001) : Number(bound)
      const moved = evidence.scores.map((each) => (each.name === name ? { ...each, value } : each))
      const after = decide({ ...evidence, scores: moved }, settings)
      checked++
      return after.verdict === verdict && after.needs_review === (review !== undefined)
    }),
    { numRuns: 1000 },
  )
  t.ok(checked > 300, `${checked} were about a score`)
})
