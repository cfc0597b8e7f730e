import Joi from 'joi'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import type { Span } from '../../jobs/rules/traces/trace.ts'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import { findTraceContent } from '../../sql/traces/traces.ts'
import { endpoint } from '../endpoint.ts'
import { conflict, notFound } from '../errors.ts'
import { errorBody, projectField } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { decodeSpanCursor, encodeCursor } from '../pagination.ts'
import type { SpanPlace } from '../pagination.ts'
import { spanBody } from './trace-body.ts'
import { findVisibleTrace, tracePath } from './trace.ts'

export const listSpans = endpoint('GET', '/traces/{trace_id}/spans', {
  summary: 'Read the spans of a trace by page',
  description:
    'In the order in which they were sent with the trace; those of a trace that is made of spans (OpenTelemetry, imports) by their start. While such a trace receives spans, a page begins after the last span of the page before: one that comes later and started earlier is in none of the pages that follow, and `total` has grown. 409 where the trace was replaced meanwhile and does not have that span.',
  access: 'key',
  params: tracePath,
  query: shape({}, { project: projectField, limit: int(1, 2000).default(500), cursor: text(1024) }),
  answers: {
    200: Joi.object({
      trace_id: Joi.string().required(),
      spans: listOf(spanBody).required(),
      total: Joi.number().integer().required(),
      next_cursor: Joi.string().allow(null).required(),
    }).label('SpanList'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context: { sql }, principal, params, query: { project, limit, cursor } }) {
    const last = decodeSpanCursor(cursor)
    const trace = await findVisibleTrace(sql, principal, params.trace_id, project)
    const content = await findTraceContent(sql, trace)
    if (!content) throw notFound('Trace')
    const { spans } = await decodeContentInSteps(content, openTurns())
    const from = last ? placeAfter(last, spans) : 0
    const shown = spans.slice(from, from + limit)
    const to = from + shown.length
    const end = shown.at(-1)
    return {
      trace_id: trace.trace_id,
      spans: shown,
      total: spans.length,
      next_cursor: end && to < spans.length ? encodeCursor([end.id, to]) : null,
    }
  },
})

/** How many spans go up to the last one of a page, before which others may have come since then. */
function placeAfter({ id, place }: SpanPlace, spans: readonly Span[]) {
  // Spans that were sent with a trace may have the same id.
  if (spans[place - 1]?.id === id) return place
  const at = spans.findIndex((span) => span.id === id)
  if (at === -1) throw conflict('The trace was replaced: read its spans from the first page')
  return at + 1
}
