import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { isBuiltInName } from '../../jobs/rules/evals/judgement.ts'
import { listOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { countEvaluators, insertEvaluator } from '../../sql/evals/evaluators.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest, conflict } from '../errors.ts'
import { errorBody, projectField } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { MAX_EVALUATORS } from './evaluator.ts'

export const registerEvaluators = endpoint('POST', '/evaluators/register', {
  summary: 'Register the names that a client pushes scores under',
  description:
    'Names that are registered already stay as they are, so repeating it changes nothing.',
  access: 'key',
  query: shape({}, { project: projectField }),
  body: shape(
    {
      evaluators: listOf(
        shape({ name: text(128).min(1) }, { description: text(1000).allow(null, '') }).label(
          'RegisteredEvaluator',
        ),
      )
        .min(1)
        .max(MAX_EVALUATORS),
    },
    { agent_name: text().min(1).allow(null), project: projectField },
  )
    .label('RegisterEvaluatorsRequest')
    .example({ evaluators: [{ name: 'helpfulness', description: 'Of the answer, by a judge' }] }),
  answers: {
    200: Joi.object({
      registered: listOf(Joi.string()).required().description('Names registered now'),
      total: Joi.number().integer().required().description('Evaluators the project has now'),
    }).label('RegisteredEvaluators'),
    409: errorBody,
  },
  async handle({ context, principal, query, body }) {
    const taken = body.evaluators.find(({ name }) => isBuiltInName(name))
    if (taken) throw conflict(`${taken.name} is an evaluator that is always on`)
    return context.sql.begin(async (tx: Transaction) => {
      const { id: project_id } = await writableProject(tx, principal, body.project ?? query.project)
      const registered = []
      for (const { name, description } of body.evaluators) {
        const inserted = await insertEvaluator(tx, principal.orgId, {
          id: randomUUIDv7(),
          project_id,
          name,
          type: 'external',
          agent_name: body.agent_name ?? '',
          description: description || null,
          config: {},
        })
        if (inserted) registered.push(name)
      }
      const { total } = await countEvaluators(tx, principal.orgId, project_id)
      if (total > MAX_EVALUATORS) {
        throw badRequest(`A project has at most ${MAX_EVALUATORS} evaluators`)
      }
      return { registered, total }
    })
  },
})
