import type { Queue } from '../../jobs/queue.ts'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Transaction } from '../core/db.ts'
import { requestCancel } from '../jobs/jobs.ts'

/**
 * Requests that a job be canceled. A waiting job is canceled and leaves its queue; a running one
 * becomes `cancelling` and stops at its next safe point. A job that has ended keeps its state. Returns
 * the state after the request, or undefined when there is no such job.
 */
export async function cancelJob(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  id: string,
): Promise<JobState | undefined> {
  const change = await requestCancel(tx, orgId, id)
  if (change?.before === 'queued') await queue.withdraw(tx, change.kind, change.queue_job_id)
  return change?.after
}
