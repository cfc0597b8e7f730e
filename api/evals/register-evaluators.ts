import Joi from 'joi'
import { MAX_EVALUATORS } from '../../jobs/rules/evals/check-configs.ts'
import { isBuiltInName } from '../../jobs/rules/evals/judgement.ts'
import { EVAL_TYPES } from '../../jobs/rules/evals/evaluators.ts'
import { listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { countEvaluators, insertEvaluator } from '../../sql/evals/evaluators.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { projectField, projectQuery } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { evaluatorMembers, newEvaluator } from './evaluator.ts'

export const registerEvaluators = endpoint('POST', '/evaluators/register', {
  summary: 'Register the names that a client pushes scores under',
  description:
    'Names that are registered already, and those that are always on, stay as they are, so repeating it changes nothing.',
  access: 'key',
  query: projectQuery,
  body: shape(
    {
      evaluators: listOf(
        shape(
          { name: text(128).min(1) },
          { eval_type: oneOf(...EVAL_TYPES).default('custom'), ...evaluatorMembers },
        ).label('RegisteredEvaluator'),
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
  },
  async handle({ context, principal, query, body }) {
    return context.sql.begin(async (tx: Transaction) => {
      const { id: project_id } = await writableProject(tx, principal, query.project)
      const registered = []
      for (const { name, eval_type, ...said } of body.evaluators) {
        if (isBuiltInName(name)) continue
        const type = 'external'
        const agent_name = body.agent_name ?? ''
        const evaluator = { name, type, eval_type, agent_name, config: {} } as const
        const row = newEvaluator(project_id, said, evaluator)
        const inserted = await insertEvaluator(tx, principal.orgId, row)
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
