import Joi from 'joi'
import { listOf, shape, textReference, time } from '../../jobs/shape.ts'
import { countTracesByFacet } from '../../sql/traces/trace-lists.ts'
import type { TraceCount } from '../../sql/traces/trace-lists.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'

const counts = () => Joi.object().pattern(Joi.string(), Joi.number().integer())

export const showTraceStats = endpoint('GET', '/traces/stats', {
  summary: 'Count traces by status, source type, verdict and day',
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
      total: Joi.number().integer().required(),
      by_status: counts().required(),
      by_source_type: counts().required(),
      by_verdict: counts().required().description('`none` for traces without a verdict'),
      by_day: listOf(
        Joi.object({
          day: Joi.string().required(),
          count: Joi.number().integer().required(),
        }).label('DayCount'),
      )
        .required()
        .description('Days of UTC, newest first'),
    }).label('TraceStats'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query: { project, ...filter } }) {
    const projectIds = await readableProjects(sql, principal, project)
    const rows = await countTracesByFacet(sql, principal.orgId, { ...filter, projectIds })
    const by_status = countsOf(rows, 'status')
    return {
      total: Object.values(by_status).reduce((sum, n) => sum + n, 0),
      by_status,
      by_source_type: countsOf(rows, 'source_type'),
      by_verdict: countsOf(rows, 'verdict'),
      by_day: rows.flatMap(({ facet, word, n }) =>
        facet === 'day' ? [{ day: word, count: n }] : [],
      ),
    }
  },
})

function countsOf(rows: readonly TraceCount[], facet: TraceCount['facet']) {
  const matching = rows.filter((row) => row.facet === facet)
  return Object.fromEntries(matching.map(({ word, n }) => [word || 'none', n]))
}
