import t from 'tap'
import { counterfactual, readCounterfactual } from '../../../../jobs/rules/evals/counterfactual.ts'
import { DEFAULT_POLICY, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { JudgedScore } from '../../../../jobs/rules/evals/quality.ts'
import { decide } from '../../../../jobs/rules/evals/verdict.ts'
import type { Evidence } from '../../../../jobs/rules/evals/evidence.ts'
import { RULES } from '../../../../jobs/rules/evals/verdict-rules.ts'
import { anyPolicy } from '../../../support/any-evidence.ts'
import { custom, evidenceOf, fit, human, scoreOf } from '../../../support/evidence.ts'
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

t.test('the counterfactual as data', async (t) => {
  t.test('tells the score, or the condition in words', async (t) => {
    const read = readCounterfactual('keep with review if a < 0.62', 'score.good')
    t.same(read, {
      verdict: 'keep',
      needs_review: true,
      subject: 'a',
      op: '<',
      value: 0.62,
      text: 'keep with review if a < 0.62',
    })
    const copy = readCounterfactual('repair if it were not a copy of a >= 1', 'duplicate.exact')
    t.match(copy, {
      verdict: 'repair',
      needs_review: false,
      subject: 'it were not a copy of a >= 1',
      op: null,
      value: null,
    })
  })

  t.test('is null without one, and for a text that is none', async (t) => {
    t.equal(readCounterfactual(null, 'score.good'), null)
    for (const text of ['', 'keep', 'keep if ', 'keep unless a >= 1', 'hold if a >= 1']) {
      t.equal(readCounterfactual(text, 'score.good'), null, text)
    }
  })

  t.test('says what the text says, whatever decided and whatever the names', async (t) => {
    const word = fc.constantFrom('a', ' if ', ' >= ', ' < ', '0.5', '1', ' with review', 'it were')
    const name = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(''))
    const score = fc
      .record({
        kind: fc.constantFrom({}, human, custom),
        name,
        value: fc.double({ min: 0, max: 1, noNaN: true }),
      })
      .map(({ kind, name, value }) => scoreOf(value, { ...kind, name }))
    const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
      fc.oneof({ arbitrary: fc.constant(null), weight: 6 }, { arbitrary, weight: 1 })
    const found = fc.record({
      malformed: rarely(fc.constant('malformed.empty')),
      forbidden: rarely(fc.constant('policy.consent')),
      duplicate_of: rarely(name),
      correction: rarely(fc.constant('annotation')),
      compatibility: rarely(
        fc.constantFrom('drop' as const, 'replay' as const, 'repair' as const),
      ).map((verdict) => verdict && fit(verdict).compatibility),
      contract: rarely(fc.record({ subject: name, rerunnable: fc.boolean() })),
      tool_error_count: fc.constantFrom(0, 0, 2),
    })
    const codes = new Set<string>()
    fc.assert(
      fc.property(fc.array(score, { maxLength: 3 }), found, anyPolicy, (scores, found, policy) => {
        const evidence = evidenceOf(scores, found)
        const decision = decide(evidence, policy)
        const code = decision.reasons[0]?.code
        const text = counterfactual(evidence, policy, decision)
        const read = readCounterfactual(text, code)
        if (!read) return text === null
        codes.add(String(code))
        const { verdict, needs_review, subject, op, value } = read
        const condition = op === null ? subject : `${subject} ${op} ${value}`
        const isOfScore = evidence.scores.some(({ name }) => name === subject)
        return (
          text === `${verdict}${needs_review ? ' with review' : ''} if ${condition}` &&
          read.text === text &&
          (op !== null) === isOfScore &&
          (op !== null) === code?.startsWith('score.')
        )
      }),
      { numRuns: 3000 },
    )
    const decided = (code: string) => [...codes].some((each) => each.startsWith(code))
    for (const { code, without } of RULES) {
      if (without) t.ok(decided(code.replace('*', '')), `some were decided by ${code}`)
    }
    t.ok(decided('score.good') && decided('score.bad') && decided('score.middling'))
  })
})
