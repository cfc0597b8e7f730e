import Joi from 'joi'
import { listOf, shape, textReference, time } from '../../jobs/shape.ts'
import { countTracesByFacet } from '../../sql/traces/trace-counts.ts'
import type { FacetCount } from '../../sql/traces/trace-counts.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'

const counts = () => Joi.object().pattern(Joi.string(), Joi.number().integer()).required()

export const showTraceStats = endpoint('GET', '/traces/stats', {
  summary: 'Count traces by status, source type, verdict, reason and day',
  access: 'key',
  aggregates: true,
  query: shape(
    {},
    {
      agent_name: textReference(),
      since: time().description('Started on its day in UTC or later'),
      project: projectField,
    },
  ),
  answers: {
    200: Joi.object({
      total: Joi.number().integer().required(),
      by_status: counts(),
      by_source_type: counts(),
      by_verdict: counts().description('`none` for traces without a verdict'),
      by_reason: counts().description(
        'By the code of the reason that decided; traces without a verdict are not in it',
      ),
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
  async handle({ context: { sql }, principal, query: { project, agent_name, since } }) {
    const projectIds = await readableProjects(sql, principal, project)
    const filter = { orgId: principal.orgId, projectIds, agentName: agent_name, since }
    const rows = await countTracesByFacet(sql, filter)
    const by_status = countsOf(rows, 'status')
    const by_verdict = countsOf(rows, 'verdict')
    const total = totalOf(by_status)
    const none = total - totalOf(by_verdict)
    return {
      total,
      by_status,
      by_source_type: countsOf(rows, 'source_type'),
      by_verdict: { ...by_verdict, ...(none > 0 && { none }) },
      by_reason: countsOf(rows, 'reason'),
      by_day: rows.flatMap(({ facet, word, n }) =>
        facet === 'day' ? [{ day: word, count: n }] : [],
      ),
    }
  },
})

function countsOf(rows: readonly FacetCount[], facet: FacetCount['facet']) {
  const matching = rows.filter((row) => row.facet === facet)
  return Object.fromEntries(matching.map(({ word, n }) => [word, n]))
}

function totalOf(counts: Readonly<Record<string, number>>) {
  return Object.values(counts).reduce((sum, n) => sum + n, 0)
}
