import type { Transaction } from '../../sql/core/db.ts'
import { findVerdict } from '../../sql/evals/verdicts.ts'
import { endpoint } from '../endpoint.ts'
import { conflict, notFound } from '../errors.ts'
import { errorBody, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { decisionBody, viewDecision } from './decision.ts'
import { judgeTrace } from './judge-trace.ts'

export const decideTrace = endpoint('POST', '/traces/{trace_id}/decision', {
  summary: 'Decide on a trace now, by the policy that holds now',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  answers: { 200: decisionBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, query }) {
    const trace = await findVisibleTrace(context.sql, principal, params.trace_id, query.project)
    if (trace.status === 'running') throw conflict('The trace is still running')
    const verdict = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await judgeTrace(tx, context.queue, trace)
      return findVerdict(tx, trace)
    })
    if (!verdict) throw notFound('Trace')
    return viewDecision(verdict)
  },
})
