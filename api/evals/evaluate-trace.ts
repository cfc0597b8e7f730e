import Joi from 'joi'
import { isMadeHere } from '../../jobs/rules/evals/judgement.ts'
import { isPass } from '../../jobs/rules/evals/score.ts'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listScores } from '../../sql/evals/eval-scores.ts'
import type { ScoreRow } from '../../sql/evals/eval-scores.ts'
import { listChecks } from '../../sql/evals/evaluators.ts'
import { endpoint } from '../endpoint.ts'
import { ApiError, conflict } from '../errors.ts'
import { errorBody, nullable, projectField, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { describeEvaluator } from './evaluator-template.ts'
import { judgeTrace } from './judge-trace.ts'
import { scoreBody, viewScore } from './score.ts'

const evaluatedBody = Joi.object({
  trace_id: Joi.string().required(),
  checks: listOf(
    Joi.object({
      check: Joi.string().required().description('Name of the evaluator'),
      score: nullable(Joi.number()).description('Null where it is not applicable'),
      passed: nullable(Joi.boolean()),
      detail: Joi.string().required().description('A sentence for people'),
    }).label('EvaluatorCheck'),
  ).required(),
  scores: listOf(scoreBody).required().description('Of the built-in evaluators and checks'),
}).label('EvaluatedTrace')

export const evaluateTrace = endpoint('POST', '/traces/{trace_id}/evaluate', {
  summary: 'Run the built-in evaluators and the checks of the project over a trace again',
  description: 'No model is called here: mode llm_judge is 501 `not_supported`. Push its scores.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  body: shape(
    {},
    {
      mode: oneOf('deterministic', 'llm_judge').default('deterministic'),
      project: projectField,
    },
  )
    .label('EvaluateTraceRequest')
    .example({ mode: 'deterministic' }),
  answers: {
    200: evaluatedBody,
    404: errorBody,
    409: errorBody,
    501: errorBody,
  },
  async handle({ context, principal, params, query, body }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    if (body.mode === 'llm_judge') {
      throw new ApiError(
        501,
        'not_supported',
        'No model is called here: push the scores of a judge',
      )
    }
    if (trace.status === 'running') throw conflict('The trace is still running')
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      await judgeTrace(tx, context.queue, trace)
      const checks = await listChecks(tx, trace.org_id, trace.project_id)
      const scores = await listScores(tx, trace)
      const own = scores.filter((score) => isMadeHere(score, checks, trace.agent_name))
      return {
        trace_id: trace.trace_id,
        checks: own.map(viewCheck),
        scores: own.map(viewScore),
      }
    })
  },
})

/** What an evaluator of ours found; checks have their type as label. */
function viewCheck(row: ScoreRow) {
  const { name, value, source_label } = row
  const is = value === null ? 'Not applicable' : isPass(row) ? 'Passed' : 'Failed'
  return {
    check: name,
    score: value,
    passed: value === null ? null : isPass(row),
    detail: `${is}: ${describeEvaluator(name, source_label)}`,
  }
}
