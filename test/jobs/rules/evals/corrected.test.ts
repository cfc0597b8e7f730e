import t from 'tap'
import { VERDICTS } from '../../../../jobs/rules/core/verdicts.ts'
import { counterfactual } from '../../../../jobs/rules/evals/counterfactual.ts'
import { DEFAULT_POLICY, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { Evidence } from '../../../../jobs/rules/evals/evidence.ts'
import type { JudgedScore } from '../../../../jobs/rules/evals/quality.ts'
import { decide } from '../../../../jobs/rules/evals/verdict.ts'
import { anyEvidence, anyPolicy, shuffled } from '../../../support/any-evidence.ts'
import { evidenceOf, fit, scoreOf } from '../../../support/evidence.ts'
import fc from '../../../support/property.ts'

const policy = DEFAULT_POLICY.settings
const strict = resolvePolicy({ preset: 'strict' })
const corrected = { correction: 'annotation-1' }
const good = [scoreOf(0.9)]
const bad = [scoreOf(0.1)]

t.test('a corrected trace', async (t) => {
  const judged = (scores: JudgedScore[], more: Partial<Evidence> = {}, by = policy) => {
    const { verdict, needs_review, reasons } = decide(
      evidenceOf(scores, { ...corrected, ...more }),
      by,
    )
    return [verdict, needs_review, ...reasons.map(({ code }) => code)]
  }

  t.test('is one to repair where it would be dropped or replayed for its outcome', async (t) => {
    t.same(judged(bad), ['repair', false, 'output.corrected', 'score.bad'])
    for (const rerunnable of [true, false]) {
      const contract = { subject: 'answer', rerunnable }
      const codes = ['output.corrected', 'contract.outcome', 'score.good']
      t.same(judged(good, { contract }), ['repair', false, ...codes])
    }
    const unsure = [scoreOf(0.6)]
    t.same(judged(unsure, {}, strict), ['repair', false, 'output.corrected', 'score.middling'])
    const [reason] = decide(evidenceOf(bad, corrected), policy).reasons
    t.same(reason, {
      rule: 6,
      code: 'output.corrected',
      subject: 'annotation-1',
      message: 'A person wrote what the trace should have ended in',
    })
  })

  t.test('keeps a verdict that is as good, and the rule that decided it', async (t) => {
    t.same(judged(good), ['keep', false, 'score.good', 'output.corrected'])
    t.same(judged(good, { tool_error_count: 1 }), [
      'repair',
      false,
      'step.masked',
      'output.corrected',
      'score.good',
    ])
    t.same(judged(good, fit('repair')).slice(0, 4), [
      'repair',
      false,
      'compat.repair',
      'output.corrected',
    ])
    t.same(judged(bad, fit('repair')), [
      'repair',
      false,
      'output.corrected',
      'score.bad',
      'compat.repair',
    ])
  })

  t.test('needs a review only where it is flagged or its calls ask for one', async (t) => {
    t.same(judged([scoreOf(0.5)]).slice(0, 2), ['keep', false])
    t.same(judged([]).slice(0, 2), ['keep', false], 'only built-ins tell')
    t.same(judged([scoreOf(0.5)], { flagged: true }).slice(0, 2), ['keep', true])
    t.same(judged(bad, { flagged: true }).slice(0, 2), ['repair', true])
    t.same(judged(good, fit('keep', true)).slice(0, 2), ['keep', true])
    const settled = { ...fit('keep', true), flagged: false }
    t.same(judged(good, settled).slice(0, 2), ['keep', false], 'somebody has looked')
  })

  t.test('stays what another ending does not mend', async (t) => {
    t.same(judged(good, { malformed: 'malformed.empty' }).slice(0, 3), [
      'drop',
      false,
      'malformed.empty',
    ])
    t.same(judged(good, { forbidden: 'policy.consent' }).slice(0, 3), [
      'drop',
      false,
      'policy.consent',
    ])
    t.same(judged(good, fit('drop')).slice(0, 3), ['drop', false, 'compat.drop'])
    t.same(judged(good, fit('replay')).slice(0, 3), ['replay', false, 'compat.replay'])
    t.same(judged(bad, fit('replay')).slice(0, 3), ['replay', false, 'compat.replay'])
  })

  t.test('is nobody’s copy', async (t) => {
    t.same(judged(good, { duplicate_of: 't1' }), ['keep', false, 'score.good', 'output.corrected'])
  })

  t.test('keeps the quality of what it said', async (t) => {
    const [before, after] = [evidenceOf(bad), evidenceOf(bad, corrected)].map((each) =>
      decide(each, policy),
    )
    t.match(after, { quality_avg: before?.quality_avg, eval_verdict: 'fail' })
  })

  t.test('would be what it was if nobody had corrected it', async (t) => {
    const told = (scores: JudgedScore[], more: Partial<Evidence> = {}, by = policy) => {
      const evidence = evidenceOf(scores, { ...corrected, ...more })
      return counterfactual(evidence, by, decide(evidence, by))
    }
    t.equal(told(bad), 'drop if nobody had corrected the output')
    const contract = { subject: 'answer', rerunnable: true }
    t.equal(told(good, { contract }), 'replay if nobody had corrected the output')
    t.equal(
      told([scoreOf(0.6)], { duplicate_of: 't1' }, strict),
      'drop if nobody had corrected the output',
    )
    t.match(told(good), /^repair if judge < /)
  })
})

t.test('a correction of any trace', async (t) => {
  const trace = fc
    .record({
      scored: anyEvidence,
      malformed: fc.constantFrom(null, null, null, 'malformed.empty'),
      forbidden: fc.constantFrom(null, null, null, 'policy.consent'),
      compatibility: fc.constantFrom(
        null,
        ...VERDICTS.flatMap((verdict) => [fit(verdict), fit(verdict, true)]).map(
          ({ compatibility }) => compatibility,
        ),
      ),
      contract: fc.constantFrom(
        null,
        { subject: 'answer', rerunnable: true },
        { subject: 'answer', rerunnable: false },
      ),
      flagged: fc.constantFrom(true, false, null),
    })
    .map(({ scored, ...more }): Evidence => ({ ...scored, ...more }))

  t.test('makes no verdict worse, touches no keep, and lifts to repair at most', async (t) => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(trace, anyPolicy, (evidence, settings) => {
        const before = decide(evidence, settings)
        const after = decide({ ...evidence, ...corrected }, settings)
        seen.add(`${before.verdict} to ${after.verdict}`)
        return (
          after.verdict === before.verdict ||
          (after.verdict === 'repair' &&
            VERDICTS.indexOf(before.verdict) > VERDICTS.indexOf('repair'))
        )
      }),
      { numRuns: 3000 },
    )
    t.same([...seen].sort(), [
      'drop to drop',
      'drop to repair',
      'keep to keep',
      'repair to repair',
      'replay to repair',
      'replay to replay',
    ])
  })

  t.test('is among the reasons, each of which is named once', async () => {
    fc.assert(
      fc.property(trace, anyPolicy, (evidence, settings) => {
        const { verdict, reasons } = decide({ ...evidence, ...corrected }, settings)
        const [deciding, ...others] = reasons.map(({ rule }) => rule)
        return (
          reasons.some(({ code }) => code === 'output.corrected') &&
          (reasons[0]?.code !== 'output.corrected' || verdict === 'repair') &&
          !others.includes(deciding as number) &&
          others.every((rule, i) => i === 0 || rule > (others[i - 1] as number))
        )
      }),
      { numRuns: 1000 },
    )
  })

  t.test('decides the same in whatever order the scores came', async () => {
    fc.assert(
      fc.property(shuffled(trace), anyPolicy, ([evidence, scores], settings) => {
        const one = JSON.stringify(decide({ ...evidence, ...corrected }, settings))
        return one === JSON.stringify(decide({ ...evidence, ...corrected, scores }, settings))
      }),
      { numRuns: 1000 },
    )
  })
})
