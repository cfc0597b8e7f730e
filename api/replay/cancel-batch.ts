import type { Transaction } from '../../sql/core/db.ts'
import { lockBatch, setCanceled } from '../../sql/replay/replay-batches.ts'
import { cancelTasks } from '../../sql/replay/replay-tasks.ts'
import { cancelJob } from '../../sql/transactions/cancel-job.ts'
import { endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { batchPath, batchWithTasksBody, findVisibleBatch, viewBatchWithTasks } from './batch.ts'

export const cancelReplayBatch = endpoint('POST', '/replay/batches/{replay_batch_id}/cancel', {
  summary: 'Cancel a replay batch',
  description:
    'Open tasks are canceled, those that runners hold too: what they still submit is refused with 409 `task_ended`. What has ended stays. Canceling again changes nothing; a completed batch is a conflict.',
  access: 'key',
  params: batchPath,
  answers: { 200: batchWithTasksBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const { orgId } = principal
    const batch = await findVisibleBatch(context, principal, params.replay_batch_id)
    const canceled = await context.sql.begin(async (tx: Transaction) => {
      await lockBatch(tx, orgId, batch.id)
      const { status, prepared_at, job_id, dispatch_job_id } = await findVisibleBatch(
        { sql: tx },
        principal,
        batch.id,
      )
      if (status === 'completed') throw conflict('The batch is completed already')
      await setCanceled(tx, orgId, batch.id)
      // Of a batch that has its tasks `job_id` is of the past, or the job of the restore that brought it.
      for (const id of [prepared_at === null ? job_id : null, dispatch_job_id]) {
        if (id) await cancelJob(tx, context.queue, orgId, id)
      }
      await cancelTasks(tx, orgId, batch.id)
      return findVisibleBatch({ sql: tx }, principal, batch.id)
    })
    return viewBatchWithTasks(context.sql, canceled)
  },
})
