import Joi from 'joi'
import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import { listOf, shape, textReference, time } from '../../jobs/shape.ts'
import { countQualities } from '../../sql/evals/quality-histogram.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'

export const showEvalHistogram = endpoint('GET', '/traces/eval/histogram', {
  summary: 'Count the decided traces by their quality',
  access: 'key',
  aggregates: true,
  query: shape(
    {},
    {
      agent_name: textReference(),
      since: time().description('Started at or after'),
      project: projectField,
    },
  ),
  answers: {
    200: Joi.object({
      total: Joi.number().integer().required().description('Decided traces that have a quality'),
      bins: listOf(
        Joi.object({
          from: Joi.number().required(),
          to: Joi.number().required(),
          count: Joi.number().integer().required(),
        }).label('QualityBin'),
      )
        .length(HISTOGRAM_BINS)
        .required()
        .description('From the lowest, each without its upper bound; the last one is with it'),
    }).label('QualityHistogram'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query: { agent_name: agentName, since, project } }) {
    const projectIds = await readableProjects(sql, principal, project)
    const rows = await countQualities(sql, principal.orgId, { projectIds, agentName, since })
    const counts = new Map(rows.map(({ bin, n }) => [bin, n]))
    return {
      total: rows.reduce((sum, { n }) => sum + n, 0),
      bins: Array.from({ length: HISTOGRAM_BINS }, (_, bin) => ({
        from: bin / HISTOGRAM_BINS,
        to: (bin + 1) / HISTOGRAM_BINS,
        count: counts.get(bin) ?? 0,
      })),
    }
  },
})
