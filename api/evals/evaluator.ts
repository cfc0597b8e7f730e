import Joi from 'joi'
import { BUILT_INS, CHECK_TYPES } from '../../jobs/rules/evals/evaluators.ts'
import { faultOfPattern } from '../../jobs/rules/core/pattern.ts'
import { bool, oneOf, shape, text } from '../../jobs/shape.ts'
import type { EvaluatorRow } from '../../sql/evals/evaluators.ts'
import { nullable, times } from '../fields.ts'

const EVALUATOR_TYPES = ['always_on', ...CHECK_TYPES, 'external'] as const

export const evaluatorBody = Joi.object({
  id: nullable(Joi.string().guid())
    .required()
    .description('Null for the evaluators that are always on'),
  name: Joi.string().required().description('The name of its scores'),
  type: Joi.string()
    .valid(...EVALUATOR_TYPES)
    .required()
    .description('external: only a name that clients push scores under'),
  agent_name: nullable(Joi.string()).required().description('Null for every agent'),
  description: nullable(Joi.string()).required(),
  config: Joi.object().unknown(true).required(),
  project_id: nullable(Joi.string().guid()).required(),
  created_at: nullable(times).required(),
}).label('Evaluator')

/** The configuration of each type of check. */
export const CONFIGS = {
  json_valid: shape({}),
  contains: shape({ text: text(1000).min(1) }, { case_sensitive: bool().default(true) }),
  regex: shape({ pattern: text(500).min(1).custom(checkPattern) }),
  max_cost: shape({ usd: Joi.number().min(0).max(1_000_000) }),
  max_steps: shape({ steps: Joi.number().integer().min(0).max(1_000_000) }),
}

export const checkType = oneOf(...CHECK_TYPES)

function checkPattern(source: string, { message }: Joi.CustomHelpers) {
  const fault = faultOfPattern(source)
  return fault === undefined ? source : message({ custom: '{#label} {#fault}' }, { fault })
}

/** The evaluators that are always on, as clients see them. */
export const ALWAYS_ON = BUILT_INS.map(({ name, description }) => ({
  id: null,
  name,
  type: 'always_on',
  agent_name: null,
  description,
  config: {},
  project_id: null,
  created_at: null,
}))

/** An evaluator as clients see it. */
export function viewEvaluator(row: EvaluatorRow) {
  return { ...row, agent_name: row.agent_name || null }
}

/** Most evaluators of a project: each of them runs over every trace. */
export const MAX_EVALUATORS = 100
