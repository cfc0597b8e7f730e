import { updateOwed } from '../../sql/regression/check-requests.ts'
import type { SubmittedCheck } from '../../sql/regression/check-requests.ts'
import type { Answer } from '../endpoint.ts'
import { ApiError } from '../errors.ts'
import type { CheckCall } from './check-request.ts'

/**
 * Passes an answer on, but only a complete report to a client that said nothing of how long it waits: such
 * clients take a report without a verdict for a pass.
 * @throws ApiError 503 for a check that is not done, or has failed
 */
export async function requireReport(
  { context, principal }: CheckCall,
  { job_id, check_id }: SubmittedCheck,
  answer: Answer<object>,
) {
  const isPreferred = 'Preference-Applied' in answer.headers
  const isDone = answer.status === 200
  const isFailed = isDone && 'status' in answer.body && answer.body.status === 'failed'
  if (isDone && !isFailed) await updateOwed(context.sql, principal.orgId, job_id, false)
  if (isPreferred || (isDone && !isFailed)) return answer
  const members = { job_id, ...(check_id !== null && { id: check_id }) }
  if (isFailed) {
    throw new ApiError(503, 'check_failed', 'The check failed: there is no verdict', { members })
  }
  await updateOwed(context.sql, principal.orgId, job_id, true)
  throw new ApiError(503, 'still_running', 'The check is still running: ask again for its report', {
    members,
    headers: answer.headers,
  })
}
