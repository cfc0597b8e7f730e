import Joi from 'joi'
import { PRESETS, TRUSTS } from '../../jobs/rules/decision-policy.ts'
import type { Reason } from '../../jobs/rules/verdict.ts'
import { listOf } from '../../jobs/shape.ts'
import type { PolicyRow } from '../../sql/decision-policies.ts'
import type { StoredVerdict } from '../../sql/verdicts.ts'
import { nullable, times } from '../fields.ts'
import { EVAL_VERDICTS, VERDICTS } from '../traces/trace-fields.ts'

export const reasonBody = Joi.object({
  rule: Joi.number().integer().required().description('Place in the order of the rules'),
  code: Joi.string().required().description('Such as score.bad, duplicate.exact, malformed.empty'),
  subject: Joi.string().required().allow(''),
  message: Joi.string().required(),
}).label('DecisionReason')

export const decisionBody = Joi.object({
  trace_id: Joi.string().required(),
  verdict: Joi.string()
    .valid(...VERDICTS)
    .required(),
  needs_review: Joi.boolean().required(),
  quality_avg: nullable(Joi.number()).required(),
  compat_avg: nullable(Joi.number()).required(),
  eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)).required(),
  reasons: listOf(reasonBody)
    .required()
    .description('Every rule that matched, the deciding one first'),
  counterfactual: nullable(Joi.string())
    .required()
    .description('The smallest single change after which another rule decides'),
  policy: Joi.object({
    name: Joi.string()
      .valid(...PRESETS)
      .required(),
    version: Joi.number().integer().required().description('0 for the default where none was set'),
    agent_name: nullable(Joi.string()).required().description("Null for the project's own"),
  })
    .required()
    .label('DecidedBy'),
  target_manifest_id: nullable(Joi.string().guid()).required(),
  decided_at: times.required(),
}).label('Decision')

const share = () => Joi.number().min(0).max(1).required()

export const policyBody = Joi.object({
  agent_name: nullable(Joi.string()).required().description("Null for the project's own"),
  version: Joi.number().integer().required().description('0 for the default where none was set'),
  preset: Joi.string()
    .valid(...PRESETS)
    .required(),
  thresholds: Joi.object({ keep_at: share(), drop_at: share() })
    .required()
    .label('PolicyThresholds'),
  source_weights: Joi.object(Object.fromEntries(TRUSTS.map((trust) => [trust, share()])))
    .required()
    .label('SourceWeights'),
  on_doubt: Joi.string().valid('review', 'replay').required(),
  content_hash: Joi.string().required().description('SHA-256 of the settings'),
  created_by: nullable(Joi.string().guid()).required(),
  created_at: nullable(times).required(),
}).label('DecisionPolicy')

/** A decision as clients see it. */
export function showDecision(verdict: StoredVerdict) {
  const { policy_agent_name, policy_version, policy_preset, reasons, ...shown } = verdict
  return {
    ...shown,
    reasons: reasons.map(showReason),
    policy: {
      name: policy_preset,
      version: policy_version,
      agent_name: policy_agent_name || null,
    },
  }
}

export function showReason({ rule, code, subject, message }: Reason) {
  return { rule, code, subject, message }
}

/** A policy as clients see it. */
export function showPolicy(policy: Omit<PolicyRow, 'created_at'> & { created_at: Date | null }) {
  const { preset, keep_at, drop_at, source_weights, on_doubt } = policy.settings
  return {
    agent_name: policy.agent_name || null,
    version: policy.version,
    preset,
    thresholds: { keep_at, drop_at },
    source_weights,
    on_doubt,
    content_hash: policy.content_hash,
    created_by: policy.created_by,
    created_at: policy.created_at,
  }
}
