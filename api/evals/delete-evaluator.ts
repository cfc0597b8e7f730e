import { shape, uuidReference } from '../../jobs/shape.ts'
import * as evaluators from '../../sql/evals/evaluators.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, noBody } from '../fields.ts'
import { readableProjects } from '../projects.ts'

export const deleteEvaluator = endpoint('DELETE', '/evaluators/{evaluator_id}', {
  summary: 'Remove an evaluator',
  description: 'Traces keep the scores it gave them.',
  access: 'key',
  params: shape({ evaluator_id: uuidReference() }),
  answers: { 204: noBody, 404: errorBody },
  async handle({ context: { sql }, principal, params }) {
    const projectIds = await readableProjects(sql, principal, undefined)
    if (
      !(await evaluators.deleteEvaluator(sql, principal.orgId, projectIds, params.evaluator_id))
    ) {
      throw notFound('Evaluator')
    }
    return new Answer(204, null)
  },
})
