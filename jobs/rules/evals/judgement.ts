import { counterfactual } from './counterfactual.ts'
import { policyFor } from './decision-policy.ts'
import type { Policy } from './decision-policy.ts'
import { BUILT_INS, evaluate, readsOutput, runCheck } from './evaluators.ts'
import type { Check, Evaluated } from './evaluators.ts'
import { FIT_SCORE, fitEvidence, fitScore } from './fit.ts'
import type { Fit } from './fit.ts'
import type { JudgedScore } from './quality.ts'
import type { NewScore } from './score.ts'
import { decide } from './verdict.ts'
import type { Decision } from './verdict.ts'

/** What is known of a stored trace when it is judged; its content stays closed. */
export interface JudgedTrace extends Evaluated {
  trace_id: string
  agent_name: string
  malformed: string | null
  /** `policy.*` when its metadata say that it may not be trained on. */
  forbidden: string | null
  /** The older trace with the same conversation. */
  duplicate_of: string | null
  /** Null without a manifest, and until it was compared with the active one. */
  fit: Fit | null
  /** What of its output broke the contract of its manifest. */
  broken_output: string | null
  /** The last annotation about review asks for one, or says that none is needed; null without any. */
  flagged: boolean | null
  /** The annotation that corrects its output, see `Evidence`. */
  correction: string | null
  /** Somebody said something that it could be run again with. */
  has_input: boolean
}

export interface Judgement {
  /** Scores of the evaluators that are always on, and of the project's checks. */
  scores: NewScore[]
  policy: Policy
  decision: Decision
  counterfactual: string | null
}

/**
 * Judges one trace.
 * @param given the scores it has; those of the evaluators themselves are made anew
 * @param output all of its final output; empty where no check looks at it
 */
export function judgeTrace(
  trace: JudgedTrace,
  given: readonly JudgedScore[],
  checks: readonly Check[],
  policies: readonly Policy[],
  output: string,
): Judgement {
  const checked = checksFor(checks, trace.agent_name).map((check) => runCheck(check, trace, output))
  const { fit, broken_output } = trace
  const scores = [...evaluate(trace), ...checked, ...(fit ? [fitScore(fit)] : [])]
  const made = new Set(scores.map(({ name }) => name))
  const others = given.filter(
    ({ source, name }) =>
      (source !== 'built_in' || !made.has(name)) &&
      (source !== 'compat_engine' || name !== FIT_SCORE),
  )
  const policy = policyFor(policies, trace.agent_name)
  const evidence = {
    malformed: trace.malformed,
    forbidden: trace.forbidden,
    duplicate_of: trace.duplicate_of,
    correction: trace.correction,
    compatibility: fit && fitEvidence(fit),
    contract:
      broken_output === null ? null : { subject: broken_output, rerunnable: trace.has_input },
    tool_error_count: trace.tool_error_count,
    flagged: trace.flagged,
    scores: [...others, ...scores.map((score) => ({ ...score, family: null }))],
  }
  const decision = decide(evidence, policy.settings)
  return {
    scores,
    policy,
    decision,
    counterfactual: counterfactual(evidence, policy.settings, decision),
  }
}

/** Whether the final output of an agent's traces is needed to judge them. */
export function needsOutput(checks: readonly Check[], agentName: string) {
  return checksFor(checks, agentName).some(readsOutput)
}

/** Names a check may not have: its score would be taken for that of an evaluator that is always on. */
export function isBuiltInName(name: string) {
  return BUILT_INS.some((builtIn) => builtIn.name === name)
}

/** The scores that `judgeTrace` makes of an agent's trace, or may make. */
export function madeScores(checks: readonly Check[], agentName: string): MadeScore[] {
  const evaluators = [...BUILT_INS, ...checksFor(checks, agentName)]
  const fit: MadeScore = { name: FIT_SCORE, source: 'compat_engine' }
  return [fit, ...evaluators.map(({ name }) => ({ name, source: 'built_in' as const }))]
}

/** Whether a score of an agent's trace is one that `judgeTrace` makes of it, and not a client's. */
export function isMadeHere(score: Identity, checks: readonly Check[], agentName: string) {
  const { name, source, span_id, identifier } = score
  if (source !== 'built_in' || span_id !== '' || identifier !== '') return false
  return isBuiltInName(name) || checksFor(checks, agentName).some((check) => check.name === name)
}

/** An agent's own check goes before one of the same name for all agents. */
function checksFor(checks: readonly Check[], agentName: string) {
  const own = checks.filter(({ agent_name }) => agent_name === agentName)
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...checks.filter(({ agent_name, name }) => !agent_name && !names.has(name))]
}

/** A score of the whole trace. */
export type MadeScore = Pick<NewScore, 'name' | 'source'>
type Identity = Pick<NewScore, 'name' | 'source' | 'span_id' | 'identifier'>
