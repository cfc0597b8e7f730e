import Joi from 'joi'
import { bool, shape, text } from '../../shape.ts'
import { faultOfPattern } from '../core/pattern.ts'

/** The configuration of each type of check. */
export const CONFIGS = {
  json_valid: shape({}),
  contains: shape({ text: text(1000).min(1) }, { case_sensitive: bool().default(true) }),
  regex: shape({ pattern: text(500).min(1).custom(checkPattern) }),
  max_cost: shape({ usd: Joi.number().min(0).max(1_000_000) }),
  max_steps: shape({ steps: Joi.number().integer().min(0).max(1_000_000) }),
}

/** Most evaluators of a project: each of them runs over every trace. */
export const MAX_EVALUATORS = 100
/** Most of them that are patterns: one may take 40 ms of the process that runs it. */
export const MAX_PATTERNS = 10

function checkPattern(source: string, { message }: Joi.CustomHelpers) {
  const fault = faultOfPattern(source)
  return fault === undefined ? source : message({ custom: '{#label} {#fault}' }, { fault })
}
