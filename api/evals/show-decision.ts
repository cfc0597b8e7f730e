import { findVerdict } from '../../sql/evals/verdicts.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, projectQuery } from '../fields.ts'
import { findVisibleTrace, tracePath } from '../traces/trace.ts'
import { decisionBody, viewDecision } from './decision.ts'

export const showDecision = endpoint('GET', '/traces/{trace_id}/decision', {
  summary: 'Read the decision on a trace',
  description: '404 also until the trace was judged; a running trace has no decision.',
  access: 'key',
  params: tracePath,
  query: projectQuery,
  answers: { 200: decisionBody, 404: errorBody },
  async handle({ context: { sql }, principal, params, query }) {
    const trace = await findVisibleTrace(sql, principal, params.trace_id, query.project)
    const verdict = await findVerdict(sql, trace)
    if (!verdict) throw notFound('Decision')
    return viewDecision(verdict)
  },
})
