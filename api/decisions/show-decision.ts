import { findVerdict } from '../../sql/verdicts.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { findVisibleTrace, tracePath, traceQuery } from '../traces/find-trace.ts'
import { decisionBody, showDecision } from './decision-fields.ts'

export const showDecisionOperation = endpoint('GET', '/traces/{trace_id}/decision', {
  area: 'eval-scores',
  summary: 'Read the decision on a trace',
  description: '404 also until the trace was judged; a running trace has no decision.',
  access: 'key',
  params: tracePath,
  query: traceQuery,
  answers: { 200: decisionBody, 404: errorBody },
  async handle({ context: { sql }, principal, params, query }) {
    const trace = await findVisibleTrace(sql, principal, params.trace_id, query.project)
    const verdict = await findVerdict(sql, trace)
    if (!verdict) throw notFound('Decision')
    return showDecision(verdict)
  },
})
