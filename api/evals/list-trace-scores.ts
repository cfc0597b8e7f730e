import Joi from 'joi'
import { EVAL_VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { listOf } from '../../jobs/shape.ts'
import { listScores } from '../../sql/evals/eval-scores.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { readQuality } from './quality.ts'
import { scoreBody, viewScore } from './score.ts'

export const listTraceScores = endpoint('GET', '/traces/{trace_id}/eval-scores', {
  summary: 'Read the scores of a trace',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  answers: {
    200: Joi.object({
      trace_id: Joi.string().required(),
      quality_scores: listOf(scoreBody).required(),
      compatibility_scores: listOf(scoreBody).required(),
      quality_avg: nullable(Joi.number()),
      compat_avg: nullable(Joi.number()),
      eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)),
    }).label('TraceScores'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const trace = await findVisibleTrace(sql, principal, params.trace_id, query.project)
    const scores = await listScores(sql, trace)
    const { quality_avg, compat_avg, eval_verdict } = await readQuality(sql, trace, scores)
    const of = (category: string) => scores.filter((score) => score.category === category)
    return {
      trace_id: trace.trace_id,
      quality_scores: of('quality').map(viewScore),
      compatibility_scores: of('compatibility').map(viewScore),
      quality_avg,
      compat_avg,
      eval_verdict,
    }
  },
})
