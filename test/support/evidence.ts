import { evaluate } from '../../jobs/rules/evals/evaluators.ts'
import type { Evaluated } from '../../jobs/rules/evals/evaluators.ts'
import type { JudgedScore } from '../../jobs/rules/evals/quality.ts'
import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { CompatibilityEvidence, Evidence } from '../../jobs/rules/evals/evidence.ts'

/** A score as the decision sees it: a third-party one named `judge` unless told. */
export function scoreOf(value: number | null, more: Partial<JudgedScore> = {}): JudgedScore {
  return {
    name: 'judge',
    source: 'llm_judge',
    source_kind: 'third_party',
    source_label: null,
    value,
    passed: null,
    category: 'quality',
    family: null,
    ...more,
  }
}

export const human = { name: 'person', source: 'human', source_kind: 'human' } as const
export const custom = { name: 'reward', source: 'custom', source_kind: 'custom' } as const
/** A check of the outcome that the project added. */
export const verifier = {
  name: 'answers_json',
  source: 'built_in',
  source_kind: 'builtin',
  source_label: 'json_valid',
} as const

/** A run that went well, with nothing against it. */
export const goodRun: Evaluated = {
  status: 'success',
  has_output: true,
  tool_call_count: 4,
  tool_error_count: 0,
  llm_call_count: 2,
  output_tokens: 1000,
  cost_usd: 0.01,
  llm_latency_ms: 4000,
}

/** The built-in scores of a run. */
export function builtIns(run: Partial<Evaluated> = {}): JudgedScore[] {
  return evaluate({ ...goodRun, ...run }).map((score) => ({ ...score, family: null }))
}

/** Evidence of a good run with the built-in scores and those given. */
export function evidenceOf(scores: readonly JudgedScore[], more: Partial<Evidence> = {}): Evidence {
  return {
    malformed: null,
    forbidden: null,
    duplicate_of: null,
    correction: null,
    compatibility: null,
    contract: null,
    tool_error_count: 0,
    flagged: null,
    scores: [...builtIns(), ...scores],
    ...more,
  }
}

/** How a trace fits the target manifest. */
export function fit(verdict: Verdict, needs_review = false) {
  const compatibility: CompatibilityEvidence = {
    verdict,
    needs_review,
    code: `compat.${verdict}`,
    subject: 'search',
    message: 'The tool changed',
  }
  return { compatibility }
}
