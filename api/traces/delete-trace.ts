import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listCopies } from '../../sql/evals/judgements.ts'
import { markCellsDirty } from '../../sql/evals/cell-marks.ts'
import { lockStoredTraces } from '../../sql/traces/trace-updates.ts'
import * as traces from '../../sql/traces/traces.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, noBody } from '../fields.ts'
import { findVisibleTrace, tracePath, traceQuery } from './trace.ts'

export const deleteTrace = endpoint('DELETE', '/traces/{trace_id}', {
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
      const [locked] = await lockStoredTraces(tx, [trace])
      if (!locked) throw notFound('Trace')
      const copies = await listCopies(tx, trace)
      await markCellsDirty(tx, orgId, project_id, [trace_id])
      await traces.deleteTrace(tx, trace)
      await enqueueTraces(context.queue, tx, judgeTraces, orgId, project_id, copies)
      await requestAggregation(context.queue, tx, orgId, project_id)
    })
    return new Answer(204, null)
  },
})
