import Joi from 'joi'
import { PRESETS, resolvePolicy, TRUSTS } from '../../jobs/rules/evals/decision-policy.ts'
import type { PolicyRequest } from '../../jobs/rules/evals/decision-policy.ts'
import type { PolicyRow } from '../../sql/evals/decision-policies.ts'
import { badRequest } from '../errors.ts'
import { nullable, times } from '../fields.ts'

export const policyBody = Joi.object({
  agent_name: nullable(Joi.string()).description("Null for the project's own"),
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
  created_by: nullable(Joi.string().guid()),
  created_at: nullable(times),
}).label('DecisionPolicy')

/** A policy as clients see it. */
export function viewPolicy(policy: Omit<PolicyRow, 'created_at'> & { created_at: Date | null }) {
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

/**
 * The settings that a request asks for.
 * @throws ApiError 400 where they contradict each other
 */
export function resolveSettings(request: PolicyRequest) {
  const settings = resolvePolicy(request)
  const { keep_at, drop_at } = settings
  if (drop_at > keep_at) {
    throw badRequest(`drop_at (${drop_at}) must not be above keep_at (${keep_at})`)
  }
  return settings
}

function share() {
  return Joi.number().min(0).max(1).required()
}
