import Joi from 'joi'
import { EVAL_VERDICTS, VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { readCounterfactual } from '../../jobs/rules/evals/counterfactual.ts'
import { PRESETS } from '../../jobs/rules/evals/decision-policy.ts'
import type { Reason } from '../../jobs/rules/evals/verdict.ts'
import { listOf } from '../../jobs/shape.ts'
import type { StoredVerdict } from '../../sql/evals/verdicts.ts'
import { nullable, times } from '../fields.ts'

export const reasonBody = Joi.object({
  rule: Joi.number().integer().required().description('Place in the order of the rules'),
  code: Joi.string().required().description('Such as score.bad, duplicate.exact, malformed.empty'),
  subject: Joi.string().required().allow(''),
  message: Joi.string().required(),
}).label('DecisionReason')

const changeBody = Joi.object({
  verdict: Joi.string()
    .valid(...VERDICTS)
    .required(),
  needs_review: Joi.boolean().required(),
  subject: Joi.string()
    .required()
    .description('Name of the score that would have to move, else the condition in words'),
  op: nullable(Joi.string().valid('>=', '<')),
  value: nullable(Joi.number()).description(
    'What `op` compares the score to, 0 to 1; both are null where no score has to move',
  ),
  text: Joi.string().required().description('The same as `counterfactual`'),
}).label('CounterfactualChange')

export const decisionBody = Joi.object({
  trace_id: Joi.string().required(),
  verdict: Joi.string()
    .valid(...VERDICTS)
    .required(),
  needs_review: Joi.boolean().required(),
  quality_avg: nullable(Joi.number()),
  compat_avg: nullable(Joi.number()),
  eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)),
  reasons: listOf(reasonBody)
    .required()
    .description(
      'Every rule that matched, the deciding one first. A correction (`output.corrected`, its subject an annotation) decides only where it makes the verdict better',
    ),
  counterfactual: nullable(Joi.string()).description(
    'The smallest single change after which another rule decides',
  ),
  counterfactual_change: nullable(changeBody).description(
    'The same as data; null also for a text of a restored backup that does not read like one',
  ),
  policy: Joi.object({
    name: Joi.string()
      .valid(...PRESETS)
      .required(),
    version: Joi.number().integer().required().description('0 for the default where none was set'),
    agent_name: nullable(Joi.string()).description("Null for the project's own"),
  })
    .required()
    .label('DecidedBy'),
  target_manifest_id: nullable(Joi.string().guid()),
  decided_at: times.required(),
}).label('Decision')

/** A decision as clients see it. */
export function viewDecision(verdict: StoredVerdict) {
  const { policy_agent_name, policy_version, policy_preset, reasons, ...shown } = verdict
  return {
    ...shown,
    counterfactual_change: readCounterfactual(shown.counterfactual, reasons[0]?.code),
    reasons: reasons.map(viewReason),
    policy: {
      name: policy_preset,
      version: policy_version,
      agent_name: policy_agent_name || null,
    },
  }
}

export function viewReason({ rule, code, subject, message }: Reason) {
  return { rule, code, subject, message }
}
