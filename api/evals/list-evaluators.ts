import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import * as evaluators from '../../sql/evals/evaluators.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectQuery } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { ALWAYS_ON, evaluatorBody, viewEvaluator } from './evaluator.ts'

export const listEvaluators = endpoint('GET', '/evaluators', {
  summary: 'List the evaluators: those that are always on, then those that were added, by name',
  access: 'key',
  query: projectQuery,
  answers: {
    200: Joi.object({
      evaluators: listOf(evaluatorBody).required(),
      total: Joi.number().integer().required(),
    }).label('EvaluatorList'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const projectIds = await readableProjects(sql, principal, query.project)
    const added = await evaluators.listEvaluators(sql, principal.orgId, projectIds)
    const all = [...ALWAYS_ON, ...added.map(viewEvaluator)]
    return { evaluators: all, total: all.length }
  },
})
