import t from 'tap'
import { DEFAULT_POLICY, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { PolicySettings } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { JudgedScore } from '../../../../jobs/rules/evals/quality.ts'
import { PASS_AT } from '../../../../jobs/rules/evals/score.ts'
import { decide } from '../../../../jobs/rules/evals/verdict.ts'
import type { Evidence } from '../../../../jobs/rules/evals/evidence.ts'
import { custom, evidenceOf, fit, human, scoreOf, verifier } from '../../../support/evidence.ts'
import {
  anyEvidence as evidence,
  anyPolicy as settings,
  kinds,
  shuffled,
} from '../../../support/any-evidence.ts'
import fc from '../../../support/property.ts'

const policy = DEFAULT_POLICY.settings
const strict = resolvePolicy({ preset: 'strict' })
const permissive = resolvePolicy({ preset: 'permissive' })

t.test('a verdict', async (t) => {
  const judged = (
    scores: JudgedScore[],
    more: Partial<Evidence> = {},
    by: PolicySettings = policy,
  ) => {
    const { verdict, needs_review, reasons } = decide(evidenceOf(scores, more), by)
    return [verdict, needs_review, ...reasons.map(({ code }) => code)]
  }
  const good = [scoreOf(0.9)]
  const bad = [scoreOf(0.1)]

  t.test('is that of the first rule that matches, and every match is a reason', async (t) => {
    t.same(judged(good), ['keep', false, 'score.good'])
    const malformed = { malformed: 'malformed.empty' }
    t.same(judged(good, malformed), ['drop', false, 'malformed.empty', 'score.good'])
    const forbidden = { forbidden: 'policy.consent' }
    t.same(judged(good, forbidden), ['drop', false, 'policy.consent', 'score.good'])
    const duplicate = { duplicate_of: 'older' }
    t.same(judged(good, duplicate), ['drop', false, 'duplicate.exact', 'score.good'])
    t.same(judged(good, { ...malformed, ...duplicate }).slice(0, 4), [
      'drop',
      false,
      'malformed.empty',
      'duplicate.exact',
    ])
  })

  t.test('follows compatibility where there is an analysis', async (t) => {
    t.same(judged(good, fit('drop')), ['drop', false, 'compat.drop', 'score.good'])
    t.same(judged(good, fit('replay')), ['replay', false, 'compat.replay', 'score.good'])
    t.same(judged(good, fit('repair')), ['repair', false, 'compat.repair', 'score.good'])
    t.same(judged(good, fit('keep')), ['keep', false, 'score.good'])
    t.same(judged(bad, fit('replay')), ['replay', false, 'compat.replay', 'score.bad'])
    t.same(judged(bad, fit('repair')), ['drop', false, 'score.bad', 'compat.repair'])
  })

  t.test('replays a broken contract where that can be done', async (t) => {
    const broken = (rerunnable: boolean) => ({ contract: { subject: 'answer', rerunnable } })
    t.same(judged(good, broken(true)), ['replay', false, 'contract.outcome', 'score.good'])
    t.same(judged(good, broken(false)), ['drop', false, 'contract.outcome', 'score.good'])
  })

  t.test('follows the quality', async (t) => {
    t.same(judged(bad), ['drop', false, 'score.bad'])
    t.same(judged([scoreOf(0.5)]), ['keep', true, 'score.middling'])
    const failed = { tool_error_count: 2 }
    t.same(judged(good, failed), ['repair', false, 'step.masked', 'score.good'])
    t.same(judged([scoreOf(0.5)], failed), ['keep', true, 'score.middling'])
    const split = [scoreOf(0.9), scoreOf(0.1, verifier)]
    t.same(judged(split), ['keep', true, 'score.conflict', 'score.middling'])
    const untrusted = [scoreOf(1, human), scoreOf(0.1, custom)]
    t.same(
      judged(untrusted),
      ['keep', false, 'score.good'],
      'a source of little trust is no conflict',
    )
    t.same(judged([]), ['keep', true, 'score.good', 'score.builtin_only'])
    t.same(judged([], { scores: [] }), ['keep', true, 'score.none'])
  })

  t.test('is a replay where a strict policy is in doubt', async (t) => {
    t.same(judged([scoreOf(0.6)], {}, strict), ['replay', false, 'score.middling'])
    t.same(judged([], {}, strict), ['replay', false, 'score.good', 'score.builtin_only'])
    t.same(judged([scoreOf(1), scoreOf(0.4, verifier)], {}, strict).slice(0, 3), [
      'replay',
      false,
      'score.conflict',
    ])
    t.same(judged([scoreOf(1, { passed: false })], {}, strict).slice(0, 3), [
      'replay',
      false,
      'score.conflict',
    ])
    t.same(judged(good, {}, strict), ['keep', false, 'score.good'])
  })

  t.test('is never a drop for scores alone under a permissive policy', async (t) => {
    t.equal(judged([scoreOf(0)], {}, permissive)[0], 'keep')
    t.equal(judged([scoreOf(0)], { malformed: 'malformed.role' }, permissive)[0], 'drop')
  })

  t.test('is a drop below drop_at, however high that is', async (t) => {
    const high = resolvePolicy({ thresholds: { drop_at: 0.9, keep_at: 0.95 } })
    t.same(judged([scoreOf(0.8)], {}, high), ['drop', false, 'score.bad'])
    t.same(judged([scoreOf(0.95)], {}, high), ['keep', false, 'score.good'])
  })

  t.test('weighs people and checks of the outcome more than the built-ins', async (t) => {
    t.equal(judged([scoreOf(0, custom)])[0], 'drop', 'green built-ins do not outvote a failed task')
    t.equal(judged([scoreOf(0, verifier), scoreOf(1, custom)])[0], 'drop')
    t.equal(judged([scoreOf(1, human), scoreOf(0, custom)])[0], 'keep')
  })

  t.test('follows people alone where they scored', async (t) => {
    const beside = (value: number, by: PolicySettings = policy) =>
      decide(
        { ...evidenceOf([]), scores: [scoreOf(value, human), scoreOf(0), scoreOf(1, custom)] },
        by,
      )
    t.match(beside(1), { verdict: 'keep', quality_avg: 1, needs_review: true })
    t.match(beside(0.5), { verdict: 'keep', quality_avg: 0.5 })
    t.match(beside(0), { verdict: 'drop', quality_avg: 0 })
    const people = [scoreOf(0.2, human), scoreOf(0.8, { ...human, name: 'other' }), scoreOf(1)]
    t.equal(decide(evidenceOf(people), policy).quality_avg, 0.5)
    const unheeded = resolvePolicy({ source_weights: { human: 0 } })
    t.match(beside(1, unheeded), { quality_avg: 0.363636 }, '0.4 / 1.1')
    t.equal(judged([scoreOf(null, human), scoreOf(0)])[0], 'drop', 'not by a label')
  })

  t.test('asks for a review where a trusted source says that the trace failed', async (t) => {
    const failed = { passed: false }
    t.same(judged([scoreOf(0.9, failed)]), ['keep', true, 'score.conflict', 'score.good'])
    t.same(
      judged([scoreOf(null, failed), scoreOf(0.9, custom)]),
      ['keep', true, 'score.conflict', 'score.good'],
      'a label does as well',
    )
    t.same(judged([scoreOf(0.9, human), scoreOf(0.1, failed)]), [
      'keep',
      true,
      'score.conflict',
      'score.good',
    ])
    t.same(judged([scoreOf(0.9, human), scoreOf(0.2)]).slice(1, 3), [true, 'score.conflict'])
    t.same(judged([scoreOf(0.9, { ...custom, ...failed })]), ['keep', false, 'score.good'])
    t.same(judged([scoreOf(0.1, failed)]), ['drop', false, 'score.bad'], 'none that is dropped')
    t.same(
      judged([scoreOf(0.9), scoreOf(1, { ...failed, category: 'compatibility' })]),
      ['keep', false, 'score.good'],
      'nor for what is no quality',
    )
  })

  t.test('says what is true of this trace', async (t) => {
    const messagesOf = (scores: JudgedScore[], more: Partial<Evidence> = {}) =>
      decide(evidenceOf(scores, { scores, ...more }), policy).reasons.map(({ message }) => message)
    t.same(messagesOf([scoreOf(0.36, { passed: true })]), [
      'Quality 0.36 is below 0.4 only because scores that pass are below their full mark',
    ])
    t.same(messagesOf([scoreOf(0.5)]), ['Quality 0.5 is below 0.7, yet not bad enough to drop'])
    t.equal(
      messagesOf([scoreOf(0.9, { passed: false })])[0],
      'judge says that the trace did not pass',
    )
    t.equal(messagesOf([scoreOf(0.9), scoreOf(0.1, human)])[1], 'judge passes and person fails')
    const same = { ...human, name: 'judge' }
    t.equal(
      messagesOf([scoreOf(0.1, same), scoreOf(0.9)])[1],
      'judge (llm_judge) passes and judge (human) fails',
    )
    t.equal(
      messagesOf([scoreOf(0.1, same), scoreOf(0.9, same)])[0],
      'One score of judge (human) passes and another fails',
    )
    t.equal(
      messagesOf([scoreOf(1)], { tool_error_count: 1 })[0],
      '1 tool call failed in a good run',
    )
    t.equal(
      messagesOf([scoreOf(1)], { tool_error_count: 2 })[0],
      '2 tool calls failed in a good run',
    )
  })
})

t.test('for any evidence', async (t) => {
  t.test('a further score that passes never turns keep into drop', async () => {
    const passing = fc.record({
      kind: fc.constantFrom(...kinds),
      name: fc.constantFrom('a', 'b', 'new'),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      passed: fc.constantFrom(null, true),
    })
    fc.assert(
      fc.property(
        evidence,
        passing,
        settings,
        (evidence, { kind, name, share, passed }, settings) => {
          // One that says so passes with any value, else it has to be one that would be kept alone.
          const line = passed ? 0 : Math.max(PASS_AT, settings.keep_at)
          const value = line + (1 - line) * share
          const before = decide(evidence, settings)
          const more = [...evidence.scores, scoreOf(value, { ...kind, name, passed })]
          const after = decide({ ...evidence, scores: more }, settings)
          return !(before.verdict === 'keep' && after.verdict === 'drop')
        },
      ),
      { numRuns: 2000 },
    )
  })

  t.test('raising keep_at makes no trace one to keep without a review', async () => {
    const isKept = (evidence: Evidence, settings: PolicySettings) => {
      const { verdict, needs_review } = decide(evidence, settings)
      return verdict === 'keep' && !needs_review
    }
    fc.assert(
      fc.property(
        evidence,
        settings,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (evidence, low, by) => {
          const high = { ...low, keep_at: low.keep_at + (1 - low.keep_at) * by }
          return isKept(evidence, low) || !isKept(evidence, high)
        },
      ),
      { numRuns: 2000 },
    )
  })

  t.test('the decision depends on what the scores are and not on their order', async () => {
    fc.assert(
      fc.property(shuffled(evidence), settings, ([evidence, scores], settings) => {
        const one = JSON.stringify(decide(evidence, settings))
        return one === JSON.stringify(decide({ ...evidence, scores }, settings))
      }),
      { numRuns: 1000 },
    )
  })

  t.test('there is a verdict with a reason', async () => {
    fc.assert(
      fc.property(evidence, settings, (evidence, settings) => {
        const { verdict, reasons, quality_avg } = decide(evidence, settings)
        const rules = reasons.map(({ rule }) => rule)
        return (
          ['keep', 'repair', 'replay', 'drop'].includes(verdict) &&
          reasons.length > 0 &&
          rules.every((rule, i) => i === 0 || rule > (rules[i - 1] as number)) &&
          (quality_avg === null || (quality_avg >= 0 && quality_avg <= 1))
        )
      }),
      { numRuns: 1000 },
    )
  })
})
