import Joi from 'joi'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import { findTraceContent } from '../../sql/traces/traces.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, projectField } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { decodeNumberCursor, encodeCursor } from '../pagination.ts'
import { spanBody } from './trace-body.ts'
import { findVisibleTrace, tracePath } from './trace.ts'

export const listSpans = endpoint('GET', '/traces/{trace_id}/spans', {
  summary: 'Read the spans of a trace by page, in the order they were sent',
  access: 'key',
  params: tracePath,
  query: shape({}, { project: projectField, limit: int(1, 2000).default(500), cursor: text(512) }),
  answers: {
    200: Joi.object({
      trace_id: Joi.string().required(),
      spans: listOf(spanBody).required(),
      total: Joi.number().integer().required(),
      next_cursor: Joi.string().allow(null).required(),
    }).label('SpanList'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query: { project, limit, cursor } }) {
    // A trace never changes, so an index into its spans serves as a cursor.
    const from = decodeNumberCursor(cursor) ?? 0
    const trace = await findVisibleTrace(sql, principal, params.trace_id, project)
    const content = await findTraceContent(sql, trace)
    if (!content) throw notFound('Trace')
    const { spans } = await decodeContentInSteps(content, openTurns())
    const to = from + limit
    return {
      trace_id: trace.trace_id,
      spans: spans.slice(from, to),
      total: spans.length,
      next_cursor: to < spans.length ? encodeCursor([to]) : null,
    }
  },
})
