import Joi from 'joi'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { lockTraces } from '../../sql/traces/traces.ts'
import { endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, projectField, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { MAX_SCORES_A_TRACE, readTraceScores } from './pushed-scores.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { scoreRequest } from './score.ts'
import { storeScores } from './store-scores.ts'

const body: CheckedBody<readonly NewScore[]> = {
  documented: Joi.object({
    source: Joi.string().description('For scores that name none; default custom'),
    scores: listOf(scoreRequest).min(1).max(MAX_SCORES_A_TRACE).required(),
    metadata: Joi.object().unknown(true).description('source_label, run_id and the like'),
    project: projectField,
  })
    .label('TraceScoresRequest')
    .example({
      source: 'llm_judge',
      scores: [{ name: 'helpfulness', score: 0.95, reason: 'Says when' }],
    }),
  maxBytes: MAX_BODY_BYTES,
  read: readTraceScores,
}

export const pushTraceScores = endpoint('POST', '/traces/{trace_id}/eval-scores', {
  summary: 'Push scores of a trace',
  description:
    'A score of a name, source, span and identifier that the trace has already takes the place of that one. The trace is judged anew by the job that is named.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  body,
  answers: {
    200: Joi.object({
      status: Joi.string().valid('ok').required(),
      trace_id: Joi.string().required(),
      stored: Joi.number().integer().required(),
      verdict_job_id: Joi.string().guid().required(),
    }).label('StoredTraceScores'),
    404: errorBody,
  },
  async handle({ context, principal, params, query, body }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    const { trace_id, project_id, org_id } = trace
    const scores = body.map((score) => ({ ...score, trace_id }))
    const [verdict_job_id] = await context.queue.transaction(
      context.sql,
      async (tx: Transaction) => {
        const there = await lockTraces(tx, org_id, project_id, [trace_id])
        if (!there.has(trace_id)) throw notFound('Trace')
        return storeScores(context, tx, principal, project_id, scores)
      },
    )
    return { status: 'ok', trace_id, stored: scores.length, verdict_job_id }
  },
})
