import { resolvePolicy } from '../../jobs/rules/evals/decision-policy.ts'
import type { Preset } from '../../jobs/rules/evals/decision-policy.ts'
import type { Evidence } from '../../jobs/rules/evals/evidence.ts'
import { custom, evidenceOf, human, scoreOf, verifier } from './evidence.ts'
import fc from './property.ts'

/** What scores there are, by who gives them. */
export const kinds = [{}, human, custom, verifier, { name: 'other', source: 'external' as const }]

const score = fc
  .record({
    kind: fc.constantFrom(...kinds),
    name: fc.constantFrom('a', 'b', 'c', 'completion', 'latency'),
    value: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(null)),
    passed: fc.constantFrom(null, null, true, false),
    family: fc.constantFrom(null, null, 'gpt'),
    category: fc.constantFrom('quality' as const, 'quality' as const, 'compatibility' as const),
  })
  .map(({ kind, ...score }) => scoreOf(null, { ...kind, ...score }))

/** Any scores of a run with or without failed calls, and nothing else. */
export const anyEvidence = fc
  .record({
    scores: fc.array(score, { maxLength: 6 }),
    own: fc.boolean(),
    tool_error_count: fc.constantFrom(0, 0, 2),
  })
  .map(({ scores, own, tool_error_count }) =>
    evidenceOf(scores, { tool_error_count, ...(!own && { scores }) }),
  )

export const anyPolicy = fc
  .record({
    preset: fc.constantFrom<Preset>('strict', 'default', 'permissive'),
    bounds: fc.tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    ),
    source_weights: fc.constantFrom({}, { human: 0 }, { human: 0.2, builtin: 0.9 }),
  })
  .map(({ preset, bounds, source_weights }) =>
    resolvePolicy({
      preset,
      thresholds: { drop_at: Math.min(...bounds), keep_at: Math.max(...bounds) },
      source_weights,
    }),
  )

/** Evidence, and its scores in another order. */
export function shuffled(evidence: fc.Arbitrary<Evidence>) {
  return evidence.chain((one) =>
    fc.tuple(
      fc.constant(one),
      fc.shuffledSubarray([...one.scores], { minLength: one.scores.length }),
    ),
  )
}
