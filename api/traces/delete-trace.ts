import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { listCopies } from '../../sql/judgements.ts'
import { markCellsDirty } from '../../sql/score-cells.ts'
import { deleteTrace } from '../../sql/traces.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, noBody } from '../fields.ts'
import { findVisibleTrace, tracePath, traceQuery } from './find-trace.ts'

export const deleteTraceOperation = endpoint('DELETE', '/traces/{trace_id}', {
  area: 'traces',
  summary: 'Delete a trace',
  description:
    'Its scores, its annotations and its decision go with it; dataset versions that were built with it keep their rows. Traces with the same conversation are judged anew.',
  access: 'key',
  params: tracePath,
  query: traceQuery,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal: { orgId }, principal, params, query }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const { project_id, trace_id } = trace
      const copies = await listCopies(tx, trace)
      await markCellsDirty(tx, orgId, project_id, [trace_id])
      if (!(await deleteTrace(tx, trace))) throw notFound('Trace')
      await requestJudgement(context.queue, tx, orgId, project_id, copies)
      await requestAggregation(context.queue, tx, orgId, project_id)
    })
    return new Answer(204, null)
  },
})
