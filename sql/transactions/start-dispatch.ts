import { dispatchReplay } from '../../jobs/dispatch-replay.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { submitJob } from './submit-job.ts'

/** A batch in push mode whose tasks are made. */
export interface DispatchedBatch {
  readonly orgId: string
  readonly projectId: string
  readonly batchId: string
  /** The id of the API key on whose behalf it is. */
  readonly createdBy: string | null
}

/** Begins to send the tasks of a batch to its runner, whatever it was paused for. */
export async function startDispatch(
  tx: Transaction,
  queue: Queue,
  { orgId, projectId, batchId, createdBy }: DispatchedBatch,
): Promise<string> {
  const submission = { orgId, projectId, createdBy, resultRef: `/replay/batches/${batchId}` }
  const jobId = await submitJob(tx, queue, dispatchReplay, { batch_id: batchId }, submission)
  await tx`
    update replay_batches set dispatch_job_id = ${jobId}, paused_reason = null
    where org_id = ${orgId} and id = ${batchId}`
  return jobId
}

/**
 * Begins anew where sending has ended: the batch was paused, or its job has failed or was canceled. False
 * for every other batch: one that is sent, is not in push mode, has expired, was canceled, or has no
 * tasks yet.
 */
export async function resumeDispatch(
  tx: Transaction,
  queue: Queue,
  { orgId, batchId, createdBy }: Omit<DispatchedBatch, 'projectId'>,
): Promise<boolean> {
  // Before it is looked at: what is read in the statement that waits is older than what it waited for.
  await tx`
    select from replay_batches where org_id = ${orgId} and id = ${batchId} for no key update`
  const [batch] = await tx<{ project_id: string }[]>`
    select b.project_id from replay_batches b
    where b.org_id = ${orgId} and b.id = ${batchId} and b.mode = 'push'
      and b.prepared_at is not null and b.canceled_at is null and b.expires_at > now()
      and (b.paused_reason is not null or not exists (
        select from jobs j where j.org_id = b.org_id and j.id = b.dispatch_job_id
          and j.finished_at is null))
      and exists (select from replay_tallies y
        where y.org_id = b.org_id and y.batch_id = b.id and y.is_open)`
  if (!batch) return false
  await startDispatch(tx, queue, { orgId, batchId, createdBy, projectId: batch.project_id })
  return true
}
