import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { batchPath, batchWithTasksBody, findVisibleBatch, viewBatchWithTasks } from './batch.ts'

export const showReplayBatch = endpoint('GET', '/replay/batches/{replay_batch_id}', {
  summary: 'Show a replay batch with its first tasks',
  access: 'key',
  params: batchPath,
  answers: { 200: batchWithTasksBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const batch = await findVisibleBatch(context, principal, params.replay_batch_id)
    return viewBatchWithTasks(context.sql, batch)
  },
})
