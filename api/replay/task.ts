import Joi from 'joi'
import { REPLAYABILITIES } from '../../jobs/rules/replay/replayability.ts'
import { shape, listOf, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findTask, TASK_STATUSES } from '../../sql/replay/replay-tasks.ts'
import type { TaskRow } from '../../sql/replay/replay-tasks.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'
import { comparisonBody } from './task-result.ts'

export const taskPath = shape({ task_id: uuidReference() })

/** Members of a task wherever it is shown. */
export const taskFields = {
  id: Joi.string().guid().required(),
  batch_id: Joi.string().guid().required(),
  status: Joi.string()
    .valid(...TASK_STATUSES)
    .required(),
  trace_id: Joi.string().required(),
  replayability: Joi.string()
    .valid(...REPLAYABILITIES)
    .required()
    .description(
      'full: what the user asked is known whole, and so are the results of all tool calls. partial: something of it is missing. none: cannot be run; such a task is skipped',
    ),
  attempt: Joi.number().integer().required().description('How often it was given out'),
  leased_by: nullable(Joi.string()).description(
    'What the worker that holds it calls itself; null of a push batch',
  ),
  leased_until: nullable(times).description('Null unless it is leased'),
  reason: nullable(Joi.string()).description(
    'Why it was skipped or failed; while it waits again, why its last attempt failed',
  ),
  replayed_trace_id: nullable(Joi.string()),
  eval_score: nullable(Joi.number()),
  eval_verdict: nullable(Joi.string()),
  comparison: nullable(comparisonBody),
  ended_at: nullable(times),
}

export const taskBody = Joi.object(taskFields).label('ReplayTask')

const message = Joi.object({ role: Joi.string().required() }).unknown(true).label('ReplayMessage')

/** What a runner is given. */
export const taskInputBody = Joi.object({
  user_input: nullable(Joi.string().allow('')).description(
    'Whole where it is known; null where the trace does not tell',
  ),
  agent_name: Joi.string().required(),
  session_id: nullable(Joi.string()),
  turn_index: nullable(Joi.number().integer()),
  messages: listOf(message)
    .required()
    .description('The recorded conversation up to and with the message of the user that asked'),
  user_turns: listOf(message)
    .required()
    .description('All messages of the user from then on, for runners that play the user'),
  tool_results: listOf(
    Joi.object({
      tool_name: Joi.string().required(),
      args: nullable(Joi.any()),
      result: nullable(Joi.any()).description('Null when it was not recorded'),
      status: Joi.string().valid('success', 'error').required(),
    }).label('ReplayToolResult'),
  )
    .required()
    .description('In order, for runners that play the tools'),
  original_output: nullable(Joi.string().allow('')),
  target_manifest: nullable(
    Joi.object({
      manifest_id: Joi.string().guid().required(),
      manifest_hash: Joi.string().required(),
      version_label: Joi.string().required(),
    }).label('ReplayTarget'),
  ).description('The version to run as; null in a batch of links'),
  truncated: Joi.boolean().description(
    'Texts were cut, or items of lists left out: an input has at most 1 MiB',
  ),
}).label('ReplayTaskInput')

/** A task as clients see it, without its input. */
export function viewTask(row: TaskRow) {
  return {
    id: row.id,
    batch_id: row.batch_id,
    status: row.status,
    trace_id: row.trace_id,
    replayability: row.replayability,
    attempt: row.attempt,
    leased_by: row.leased_by,
    leased_until: row.leased_until,
    reason: row.reason,
    replayed_trace_id: row.replayed_trace_id,
    eval_score: row.eval_score,
    eval_verdict: row.eval_verdict,
    comparison: row.comparison,
    ended_at: row.ended_at,
  }
}

/** @throws ApiError 404 for a task that does not exist and for one the caller may not see, alike */
export async function findVisibleTask(
  { sql }: { readonly sql: Queryable },
  principal: Principal,
  id: string,
): Promise<TaskRow> {
  const row = await findTask(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!row || !maySee(visible, row.project_id)) throw notFound('Replay task')
  return row
}
