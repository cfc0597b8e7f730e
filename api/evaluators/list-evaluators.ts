import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listEvaluators } from '../../sql/evaluators.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { ALWAYS_ON, evaluatorBody, showEvaluator } from './evaluator-fields.ts'

export const listEvaluatorsOperation = endpoint('GET', '/evaluators', {
  area: 'eval-scores',
  summary: 'List the evaluators: those that are always on, then those that were added, by name',
  access: 'key',
  query: shape({}, { project: projectField }),
  answers: {
    200: Joi.object({
      evaluators: listOf(evaluatorBody).required(),
      total: Joi.number().integer().required(),
    }).label('EvaluatorList'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const projectIds = await readableProjects(sql, principal, query.project)
    const added = await listEvaluators(sql, principal.orgId, projectIds)
    const evaluators = [...ALWAYS_ON, ...added.map(showEvaluator)]
    return { evaluators, total: evaluators.length }
  },
})
