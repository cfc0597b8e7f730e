import { isDeepStrictEqual } from 'node:util'
import { CONFIGS, MAX_EVALUATORS, MAX_PATTERNS } from '../../jobs/rules/evals/check-configs.ts'
import { isBuiltInName } from '../../jobs/rules/evals/judgement.ts'
import { freeForm, oneOf, shape, text, textReference } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Queryable, Transaction } from '../../sql/core/db.ts'
import { countEvaluators, findEvaluator, insertEvaluator } from '../../sql/evals/evaluators.ts'
import type { EvaluatorRow } from '../../sql/evals/evaluators.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ALL_FAULTS, badRequest, conflict, faultsOf, notFound, validationError } from '../errors.ts'
import { errorBody, projectField, projectQuery } from '../fields.ts'
import { writableProject } from '../projects.ts'
import {
  ALWAYS_ON,
  checkType,
  evaluatorBody,
  evaluatorMembers,
  newEvaluator,
  viewEvaluator,
} from './evaluator.ts'
import { TEMPLATES } from './evaluator-template.ts'

const body = shape(
  {},
  {
    name: text(128).empty([null, '']).description('Default template_id'),
    template_id: textReference().description(
      'Of GET /evaluators/templates; with config where the template has none',
    ),
    type: checkType.description('Of a check that runs here'),
    eval_type: oneOf('deterministic', 'llm_judge').description(
      'Without template_id and type: of an evaluator whose scores the client pushes; deterministic under the name of a template is that template',
    ),
    config: freeForm(),
    agent_name: text().empty([null, '']).description('Default every agent'),
    ...evaluatorMembers,
    project: projectField,
  },
)
  .or('name', 'template_id')
  .or('template_id', 'type', 'eval_type')
  .oxor('template_id', 'type')

export const createEvaluator = endpoint('POST', '/evaluators', {
  summary:
    'Add a check that every trace judged from now on is scored by, or what a client scores by',
  description:
    'json_valid: the final output is JSON. contains {text, case_sensitive = true}: the final output has the text. regex {pattern}: it has a match of the pattern, in the syntax of RE2, anywhere. max_cost {usd}, max_steps {steps}: the run cost, or took LLM calls, at most that. Traces judged already get the score when they are judged again. With eval_type alone nothing runs here: the client pushes scores under the name. The name of an evaluator that is always on is answered by that one, 200; so is an evaluator that the agent has already with the same type, config, prompt_template and threshold.',
  access: 'key',
  query: projectQuery,
  body: body
    .label('EvaluatorRequest')
    .example({ name: 'says-thanks', type: 'contains', config: { text: 'thank you' } }),
  answers: { 200: evaluatorBody, 201: evaluatorBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, query, body }) {
    const builtIn = ALWAYS_ON.find(({ name }) => name === (body.template_id ?? body.name))
    if (builtIn && body.type === undefined) return builtIn
    const definition = defineEvaluator(body)
    const { name } = definition
    if (isBuiltInName(name)) throw conflict(`${name} is an evaluator that is always on`)
    return context.sql.begin(async (tx: Transaction) => {
      const project = await writableProject(tx, principal, query.project)
      const evaluator = newEvaluator(project.id, body, definition)
      const created_at = await insertEvaluator(tx, principal.orgId, evaluator)
      if (created_at) {
        await checkLimits(tx, principal.orgId, evaluator)
        return new Answer(201, viewEvaluator({ ...evaluator, created_at }))
      }
      const found = await findEvaluator(tx, principal.orgId, evaluator)
      if (!found || !measuresSame(found, evaluator)) {
        throw conflict(`There is another evaluator ${name} already`)
      }
      return viewEvaluator(found)
    })
  },
})

/** @throws when the project has too many with the one that was just stored */
async function checkLimits(sql: Queryable, orgId: string, { project_id, type }: NewEvaluator) {
  const { total, patterns } = await countEvaluators(sql, orgId, project_id)
  if (total > MAX_EVALUATORS) {
    throw badRequest(`A project has at most ${MAX_EVALUATORS} evaluators`)
  }
  if (type === 'regex' && patterns > MAX_PATTERNS) {
    throw badRequest(`A project has at most ${MAX_PATTERNS} evaluators of type regex`)
  }
}

/** By a template, by a type of check, or as what the client scores by itself. */
function defineEvaluator({ name = '', agent_name = '', ...body }: EvaluatorRequest) {
  const template_id = body.template_id ?? (isTemplateByName(name, body) ? name : undefined)
  const template = TEMPLATES.find(({ type }) => type === template_id)
  if (template_id !== undefined && !template) throw notFound('Evaluator template')
  const type = template?.type ?? body.type
  if (type === undefined) {
    const eval_type = body.eval_type ?? 'custom'
    return { name, type: 'external', eval_type, agent_name, config: {} } as const
  }
  const { error, value } = CONFIGS[type].validate(body.config ?? template?.config ?? {}, ALL_FAULTS)
  if (error) throw validationError(faultsOf('body.config', error))
  const category = body.category ?? template?.category ?? null
  const eval_type = 'deterministic'
  const config = { ...value }
  return { name: name || type, type, eval_type, agent_name, category, config } as const
}

/** Clients ask for a template by its name too. */
function isTemplateByName(name: string, { type, eval_type }: EvaluatorRequest) {
  const isOfType = (template: { type: string }) => template.type === name
  return type === undefined && eval_type === 'deterministic' && TEMPLATES.some(isOfType)
}

/** Whether two evaluators of one name measure the same; how they are described does not matter. */
function measuresSame(a: NewEvaluator, b: NewEvaluator) {
  return isDeepStrictEqual(measure(a), measure(b))
}

function measure({ type, eval_type, config, prompt_template, threshold }: NewEvaluator) {
  return { type, eval_type, config, prompt_template, threshold }
}

type EvaluatorRequest = Valid<typeof body>
type NewEvaluator = Omit<EvaluatorRow, 'created_at'>
