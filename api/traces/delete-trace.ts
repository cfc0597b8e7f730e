import type { Transaction } from '../../sql/core/db.ts'
import { removeTraces } from '../../sql/transactions/remove-traces.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, noBody, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from './trace.ts'

export const deleteTrace = endpoint('DELETE', '/traces/{trace_id}', {
  summary: 'Delete a trace',
  description:
    'Its scores, its annotations and its decision go with it; dataset versions that were built with it keep their rows. Traces with the same conversation are judged anew.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal, params, query }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    const project = { orgId: principal.orgId, projectId: trace.project_id }
    const removed = await context.queue.transaction(context.sql, (tx: Transaction) =>
      removeTraces(tx, context.queue, project, [trace.trace_id]),
    )
    if (removed === 0) throw notFound('Trace')
    return new Answer(204, null)
  },
})
