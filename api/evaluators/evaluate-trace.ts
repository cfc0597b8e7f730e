import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { listScores } from '../../sql/eval-scores.ts'
import { judgeNow } from '../decisions/judge-now.ts'
import { endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { scoreBody, showScore } from '../eval-scores/score-fields.ts'
import { findVisibleTrace, tracePath, traceQuery } from '../traces/find-trace.ts'

export const evaluateTrace = endpoint('POST', '/traces/{trace_id}/evaluate', {
  area: 'eval-scores',
  summary: 'Run the built-in evaluators and the checks of the project over a trace again',
  access: 'key',
  params: tracePath,
  query: traceQuery,
  answers: {
    200: Joi.object({
      trace_id: Joi.string().required(),
      scores: listOf(scoreBody).required().description('Of the built-in evaluators and checks'),
    }).label('EvaluatedTrace'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    if (trace.status === 'running') throw conflict('The trace is still running')
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      await judgeNow(context, tx, trace.org_id, trace.project_id, [trace.trace_id])
      const scores = await listScores(tx, trace)
      const own = scores.filter(({ source }) => source === 'built_in')
      return { trace_id: trace.trace_id, scores: own.map(showScore) }
    })
  },
})
