import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { listTasks, TASK_STATUSES } from '../../sql/replay/replay-tasks.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, listMembers } from '../fields.ts'
import { decodeNumberCursor, listAnswer } from '../pagination.ts'
import { batchPath, findVisibleBatch, viewBatch } from './batch.ts'
import { taskBody, viewTask } from './task.ts'

export const listReplayTasks = endpoint('GET', '/replay/batches/{replay_batch_id}/tasks', {
  summary: 'List the tasks of a replay batch in their order',
  access: 'key',
  params: batchPath,
  query: shape({}, { status: oneOf(...TASK_STATUSES), ...cursorQuery }),
  answers: {
    200: Joi.object({ tasks: listOf(taskBody).required(), ...listMembers }).label('ReplayTaskList'),
    404: errorBody,
  },
  async handle({ context, principal, params, query: { status, limit, cursor } }) {
    const batch = await findVisibleBatch(context, principal, params.replay_batch_id)
    const filter = { batchId: batch.id, status }
    const page = { limit: limit + 1, after: decodeNumberCursor(cursor) }
    const rows = await listTasks(context.sql, principal.orgId, filter, page)
    const { total, counts } = viewBatch(batch)
    const counted = status ? counts[status] : total
    const shown = { limit, offset: 0 }
    return listAnswer('tasks', shown, rows, counted, viewTask, ({ ordinal }) => [ordinal])
  },
})
