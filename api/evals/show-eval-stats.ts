import Joi from 'joi'
import { roundAverage } from '../../jobs/rules/core/round.ts'
import { shape, textReference } from '../../jobs/shape.ts'
import { countVerdicts } from '../../sql/evals/verdict-counts.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'

export const showEvalStats = endpoint('GET', '/traces/eval/stats', {
  summary: 'Sum up the decisions',
  access: 'key',
  aggregates: true,
  query: shape({}, { agent_name: textReference(), project: projectField }),
  answers: {
    200: Joi.object({
      total_evaluated: Joi.number().integer().required(),
      pass_rate: nullable(Joi.number()).description(
        'Share of the evaluated traces whose eval_verdict is pass; null without any',
      ),
      verdict_breakdown: Joi.object().pattern(Joi.string(), Joi.number().integer()).required(),
      avg_quality: nullable(Joi.number()),
    }).label('EvalStats'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const projectIds = await readableProjects(sql, principal, query.project)
    const filter = { orgId: principal.orgId, projectIds, agentName: query.agent_name }
    const rows = await countVerdicts(sql, filter)
    const total = (of: 'n' | 'passed' | 'scored' | 'quality_sum') =>
      rows.reduce((sum, row) => sum + row[of], 0)
    return {
      total_evaluated: total('n'),
      pass_rate: total('n') > 0 ? roundAverage(total('passed') / total('n')) : null,
      verdict_breakdown: Object.fromEntries(rows.map(({ verdict, n }) => [verdict, n])),
      avg_quality:
        total('scored') > 0 ? roundAverage(total('quality_sum') / total('scored')) : null,
    }
  },
})
