import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { isBuiltInName } from '../../jobs/rules/evals/judgement.ts'
import { shape, textReference } from '../../jobs/shape.ts'
import * as evaluators from '../../sql/evals/evaluators.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict, notFound } from '../errors.ts'
import { errorBody, noBody } from '../fields.ts'
import { readableProjects } from '../projects.ts'

export const deleteEvaluator = endpoint('DELETE', '/evaluators/{evaluator_id}', {
  summary: 'Remove an evaluator',
  description: 'Traces keep the scores it gave them.',
  access: 'key',
  params: shape({ evaluator_id: textReference() }),
  answers: { 204: noBody, 404: errorBody, 409: errorBody },
  async handle({ context: { sql }, principal, params: { evaluator_id: id } }) {
    if (isBuiltInName(id)) throw conflict(`${id} is an evaluator that is always on`)
    const projectIds = await readableProjects(sql, principal, undefined)
    const isDeleted =
      isUuid(id) && (await evaluators.deleteEvaluator(sql, principal.orgId, projectIds, id))
    if (!isDeleted) throw notFound('Evaluator')
    return new Answer(204, null)
  },
})
