import { randomUUIDv7 } from 'node:crypto'
import { isBuiltInName } from '../../jobs/rules/evals/judgement.ts'
import { freeForm, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { countEvaluators, insertEvaluator } from '../../sql/evals/evaluators.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ALL_FAULTS, badRequest, conflict, faultsOf, validationError } from '../errors.ts'
import { errorBody, projectField } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { checkType, CONFIGS, evaluatorBody, MAX_EVALUATORS, viewEvaluator } from './evaluator.ts'

export const createEvaluator = endpoint('POST', '/evaluators', {
  summary: 'Add a check that every trace judged from now on is scored by',
  description:
    'json_valid: the final output is JSON. contains {text, case_sensitive = true}: the final output has the text. regex {pattern}: it has a match of the pattern, in the syntax of RE2, anywhere. max_cost {usd}, max_steps {steps}: the run cost, or took LLM calls, at most that. Traces judged already get the score when they are judged again.',
  access: 'key',
  query: shape({}, { project: projectField }),
  body: shape(
    { name: text(128).min(1), type: checkType },
    {
      config: freeForm().default({}),
      agent_name: text().min(1).allow(null).description('Null for every agent'),
      description: text(1000).allow(null, ''),
      project: projectField,
    },
  )
    .label('EvaluatorRequest')
    .example({ name: 'says-thanks', type: 'contains', config: { text: 'thank you' } }),
  answers: { 201: evaluatorBody, 409: errorBody },
  async handle({ context, principal, query, body }) {
    const { name, type, description } = body
    if (isBuiltInName(name)) throw conflict(`${name} is an evaluator that is always on`)
    const { error, value } = CONFIGS[type].validate(body.config, ALL_FAULTS)
    if (error) throw validationError(faultsOf('body.config', error))
    return context.sql.begin(async (tx: Transaction) => {
      const project = await writableProject(tx, principal, body.project ?? query.project)
      const { total, patterns } = await countEvaluators(tx, principal.orgId, project.id)
      if (total >= MAX_EVALUATORS) {
        throw badRequest(`A project has at most ${MAX_EVALUATORS} evaluators`)
      }
      if (type === 'regex' && patterns >= MAX_PATTERNS) {
        throw badRequest(`A project has at most ${MAX_PATTERNS} evaluators of type regex`)
      }
      const evaluator = {
        id: randomUUIDv7(),
        project_id: project.id,
        name,
        type,
        agent_name: body.agent_name ?? '',
        description: description || null,
        config: { ...value },
      }
      const created_at = await insertEvaluator(tx, principal.orgId, evaluator)
      if (!created_at) throw conflict(`There is an evaluator ${name} already`)
      return new Answer(201, viewEvaluator({ ...evaluator, created_at }))
    })
  },
})

/** A pattern may take 40 ms of the process that runs it. */
const MAX_PATTERNS = 10
