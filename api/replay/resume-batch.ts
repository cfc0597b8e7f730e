import { dispatchReplay } from '../../jobs/dispatch-replay.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { resumeDispatch } from '../../sql/transactions/start-dispatch.ts'
import { requireJobRoom } from '../admit-job.ts'
import { endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { batchPath, batchWithTasksBody, findVisibleBatch, viewBatchWithTasks } from './batch.ts'

export const resumeReplayBatch = endpoint('POST', '/replay/batches/{replay_batch_id}/resume', {
  summary: 'Send the tasks of a paused replay batch again',
  description:
    'For a push batch that was paused, or whose sending ended, while tasks are open. Every other batch is a conflict.',
  access: 'key',
  params: batchPath,
  answers: { 200: batchWithTasksBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const { orgId, keyId: createdBy } = principal
    const { id: batchId } = await findVisibleBatch(context, principal, params.replay_batch_id)
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await requireJobRoom(context, tx, principal, dispatchReplay.name)
      const isResumed = await resumeDispatch(tx, context.queue, { orgId, batchId, createdBy })
      if (!isResumed) throw conflict('The batch is not paused')
    })
    const batch = await findVisibleBatch(context, principal, batchId)
    return viewBatchWithTasks(context.sql, batch)
  },
})
