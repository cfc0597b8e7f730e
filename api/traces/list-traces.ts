import Joi from 'joi'
import { listOf, shape, text } from '../../jobs/shape.ts'
import * as traceLists from '../../sql/traces/trace-lists.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, longListMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeTraceCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { listedTraceBody } from './trace-body.ts'
import { filterQuery } from './trace-query.ts'
import { viewTrace } from './trace.ts'

export const listTraces = endpoint('GET', '/traces', {
  summary: 'Search traces, newest first',
  description: 'Without spans and LLM calls; read one trace for those.',
  access: 'key',
  query: shape(
    {},
    {
      ...filterQuery,
      q: text(512).description(
        'Words of the input, the output or the error, as in a search box: quotes, a hyphen before what is not to be found, `or`. A word is found in all its forms, the last one by its beginning too',
      ),
      project: projectField,
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({ traces: listOf(listedTraceBody).required(), ...longListMembers }).label(
      'TraceList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql, listCountMs }, principal, query }) {
    const { project, limit, offset, cursor, tag, ...given } = query
    const filter = {
      ...given,
      tags: tag,
      projectIds: await readableProjects(sql, principal, project),
    }
    const page = { limit: limit + 1, offset, after: decodeTraceCursor(cursor) }
    const [rows, counted] = await Promise.all([
      traceLists.listTraces(sql, principal.orgId, filter, page),
      traceLists.countTraces(sql, principal.orgId, filter, {
        limit: COUNT_LIMIT + 1,
        withinMs: listCountMs,
      }),
    ])
    return listAnswer('traces', { limit, offset }, rows, counted, viewTrace, (trace) => [
      trace.started_at,
      trace.trace_id,
      trace.project_id,
    ])
  },
})
