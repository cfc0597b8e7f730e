import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listScores } from '../../sql/evals/eval-scores.ts'
import { judgeTraces } from '../../sql/transactions/judge-traces.ts'
import { endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { findVisibleTrace, tracePath, traceQuery } from '../traces/trace.ts'
import { scoreBody, viewScore } from './score.ts'

const evaluatedBody = Joi.object({
  trace_id: Joi.string().required(),
  scores: listOf(scoreBody).required().description('Of the built-in evaluators and checks'),
}).label('EvaluatedTrace')

export const evaluateTrace = endpoint('POST', '/traces/{trace_id}/evaluate', {
  summary: 'Run the built-in evaluators and the checks of the project over a trace again',
  access: 'key',
  params: tracePath,
  query: traceQuery,
  answers: {
    200: evaluatedBody,
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    if (trace.status === 'running') throw conflict('The trace is still running')
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      await judgeTraces(tx, context.queue, trace.org_id, trace.project_id, [trace.trace_id])
      const scores = await listScores(tx, trace)
      const own = scores.filter(({ source }) => source === 'built_in')
      return { trace_id: trace.trace_id, scores: own.map(viewScore) }
    })
  },
})
