import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { BUILT_INS, CHECK_TYPES, EVAL_TYPES } from '../../jobs/rules/evals/evaluators.ts'
import { oneOf, text } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { EvaluatorRow } from '../../sql/evals/evaluators.ts'
import { nullable, times } from '../fields.ts'

const EVALUATOR_TYPES = ['always_on', ...CHECK_TYPES, 'external'] as const

export const evaluatorBody = Joi.object({
  id: Joi.string().required().description('For the evaluators that are always on their name'),
  name: Joi.string().required().description('The name of its scores'),
  display_name: Joi.string().required().description('The name where none was given'),
  type: Joi.string()
    .valid(...EVALUATOR_TYPES)
    .required()
    .description('external: only a name that clients push scores under'),
  eval_type: Joi.string()
    .valid(...EVAL_TYPES)
    .required()
    .description('llm_judge: a model of the client gives the scores; custom: nobody said who does'),
  enabled: Joi.boolean().required().description('Always true: one that is not wanted is removed'),
  agent_name: nullable(Joi.string()).description('Null for every agent'),
  category: nullable(Joi.string()),
  description: nullable(Joi.string()),
  prompt_template: nullable(Joi.string()).description('Kept for the judge of the client'),
  threshold: nullable(Joi.number()).description('Kept for the client that scores'),
  config: Joi.object().unknown(true).required(),
  project_id: nullable(Joi.string().guid()),
  created_at: nullable(times),
}).label('Evaluator')

/** What a client may say of an evaluator besides its name. */
export const evaluatorMembers = {
  display_name: text().empty([null, '']),
  category: text().empty([null, '']),
  description: text(1000).empty([null, '']),
  prompt_template: text(20_000).empty([null, '']).description('Of a judge that the client runs'),
  threshold: Joi.number().min(0).max(1),
}

export const checkType = oneOf(...CHECK_TYPES)

/** The evaluators that are always on, as clients see them. */
export const ALWAYS_ON = BUILT_INS.map(({ name, description }) => ({
  id: name,
  name,
  display_name: name,
  type: 'always_on',
  eval_type: 'deterministic',
  enabled: true,
  agent_name: null,
  category: null,
  description,
  prompt_template: null,
  threshold: null,
  config: {},
  project_id: null,
  created_at: null,
}))

/** An evaluator as clients see it. */
export function viewEvaluator(row: EvaluatorRow) {
  const { agent_name, display_name, name } = row
  return {
    ...row,
    display_name: display_name ?? name,
    enabled: true,
    agent_name: agent_name || null,
  }
}

/** An evaluator to be stored. */
export function newEvaluator(
  projectId: string,
  said: EvaluatorWords,
  of: Pick<EvaluatorRow, 'name' | 'type' | 'eval_type' | 'agent_name' | 'config'> &
    Partial<Pick<EvaluatorRow, 'category'>>,
) {
  return {
    id: randomUUIDv7(),
    project_id: projectId,
    display_name: said.display_name ?? null,
    category: said.category ?? null,
    description: said.description ?? null,
    prompt_template: said.prompt_template ?? null,
    threshold: said.threshold ?? null,
    ...of,
  }
}

type EvaluatorWords = {
  [member in keyof typeof evaluatorMembers]?: Valid<(typeof evaluatorMembers)[member]> | undefined
}
