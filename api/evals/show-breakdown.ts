import Joi from 'joi'
import { roundAverage } from '../../jobs/rules/core/round.ts'
import { EVAL_VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { SOURCE_KINDS, SOURCES } from '../../jobs/rules/evals/score.ts'
import { listOf } from '../../jobs/shape.ts'
import { listScores } from '../../sql/evals/eval-scores.ts'
import { findVerdict } from '../../sql/evals/verdicts.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { reasonBody, viewReason } from './decision.ts'
import { readQuality } from './quality.ts'
import { scoreBody, viewScore } from './score.ts'

export const showBreakdown = endpoint('GET', '/traces/{trace_id}/eval-breakdown', {
  summary: 'Explain the quality of a trace by the sources of its scores',
  description:
    'The quality is the mean of source_avg over the groups, weighted by weight; where people scored, nobody else has weight. The reasons are those of the decision that holds now.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  answers: {
    200: Joi.object({
      eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)),
      quality_avg: nullable(Joi.number()),
      compat_avg: nullable(Joi.number()),
      source_groups: listOf(
        Joi.object({
          source: Joi.string()
            .valid(...SOURCES)
            .required(),
          source_kind: Joi.string()
            .valid(...SOURCE_KINDS)
            .required(),
          source_label: nullable(Joi.string()),
          source_avg: Joi.number().required(),
          weight: Joi.number().required(),
          scores: listOf(scoreBody).required(),
        }).label('SourceGroup'),
      ).required(),
      decision_reasons: listOf(reasonBody).required(),
    }).label('EvalBreakdown'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const trace = await findVisibleTrace(sql, principal, params.trace_id, query.project)
    const scores = await listScores(sql, trace)
    const { groups, ...quality } = await readQuality(sql, trace, scores)
    const verdict = await findVerdict(sql, trace)
    return {
      ...quality,
      source_groups: groups.map(
        ({ source, source_kind, source_label, average, weight, scores }) => ({
          source,
          source_kind,
          source_label,
          source_avg: roundAverage(average),
          weight: roundAverage(weight),
          scores: scores.map(({ family: _, ...score }) => viewScore(score)),
        }),
      ),
      decision_reasons: (verdict?.reasons ?? []).map(viewReason),
    }
  },
})
