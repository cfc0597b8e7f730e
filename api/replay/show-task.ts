import Joi from 'joi'
import { readTaskInputs } from '../../sql/replay/task-inputs.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { findVisibleTask, taskFields, taskInputBody, taskPath, viewTask } from './task.ts'

export const showReplayTask = endpoint('GET', '/replay/tasks/{task_id}', {
  summary: 'Show a replay task with its input',
  access: 'key',
  params: taskPath,
  answers: {
    200: Joi.object({
      ...taskFields,
      task_input: nullable(taskInputBody).description(
        'Null when the trace is gone or cannot be read',
      ),
    }).label('ReplayTaskWithInput'),
    404: errorBody,
  },
  async handle({ context, principal, params }) {
    const task = await findVisibleTask(context, principal, params.task_id)
    const inputs = await readTaskInputs(context.sql, principal.orgId, [task], openTurns())
    return { ...viewTask(task), task_input: inputs.get(task.id) ?? null }
  },
})
