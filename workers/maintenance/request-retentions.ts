import { deleteTraces } from '../../jobs/delete-traces.ts'
import { listDueRetentions } from '../../sql/org/trace-retention.ts'
import { submitJob } from '../../sql/transactions/submit-job.ts'
import type { Run } from '../runtime/handler.ts'

/** Has the traces deleted that organizations do not keep any longer. @returns of how many organizations */
export async function requestRetentions({ sql, queue, signal }: Run): Promise<number> {
  const due = await listDueRetentions(sql, ORGANIZATIONS_A_RUN)
  for (const { org_id: orgId, ...kept } of due) {
    signal.throwIfAborted()
    const submission = { orgId, projectId: null, createdBy: null }
    await submitJob(sql, queue, deleteTraces, { ...kept, filter: {} }, submission)
  }
  return due.length
}

/** The next run, an hour later, takes others. */
const ORGANIZATIONS_A_RUN = 1000
