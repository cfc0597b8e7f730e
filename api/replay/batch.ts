import Joi from 'joi'
import { roundAverage } from '../../jobs/rules/core/round.ts'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { BATCH_STATUSES, findBatch } from '../../sql/replay/replay-batches.ts'
import type { BatchRow } from '../../sql/replay/replay-batches.ts'
import { listTasks } from '../../sql/replay/replay-tasks.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'
import { taskBody, viewTask } from './task.ts'

/** Apart from the batches of repairs by its name, too. */
export const batchPath = shape({ replay_batch_id: uuidReference() })

const count = Joi.number().integer().required()

const batchFields = {
  id: Joi.string().guid().required(),
  batch_id: Joi.string().guid().required().description('The same as `id`'),
  project_id: Joi.string().guid().required(),
  status: Joi.string()
    .valid(...BATCH_STATUSES)
    .required()
    .description(
      'pending until a task is given out, completed when none is open. A batch whose job ended before it had made all tasks is canceled, until that job is retried',
    ),
  agent_name: Joi.string().required(),
  source_manifest_id: nullable(Joi.string().guid()),
  target_manifest_id: nullable(Joi.string().guid()).description('Null in a batch of links'),
  mode: Joi.string().valid('pull', 'push').required(),
  runner_url: nullable(Joi.string()),
  max_in_flight: count,
  note: nullable(Joi.string()),
  total: count.description('Tasks; grows while they are being made'),
  counts: Joi.object({
    pending: count,
    leased: count,
    completed: count,
    failed: count,
    skipped: count,
    canceled: count,
  })
    .required()
    .label('ReplayTaskCounts'),
  wins: count,
  losses: count,
  ties: count,
  mean_score_delta: nullable(Joi.number()).description(
    'Over the comparisons that have one; null without any',
  ),
  paused_reason: nullable(Joi.string()).description('Of a push batch'),
  job_id: nullable(Joi.string().guid()).description('The job that makes the tasks'),
  created_by: nullable(Joi.string().guid()),
  created_at: times.required(),
  canceled_at: nullable(times),
  expires_at: times.required().description('What is open then fails'),
}

export const batchBody = Joi.object(batchFields).label('ReplayBatch')

export const batchWithTasksBody = Joi.object({
  ...batchFields,
  tasks: listOf(taskBody).max(100).required().description('The first 100, without their input'),
}).label('ReplayBatchWithTasks')

/** A batch as clients see it. */
export function viewBatch(row: BatchRow) {
  const { leased, completed, failed, skipped, canceled, total } = row
  const pending = total - leased - completed - failed - skipped - canceled
  return {
    id: row.id,
    batch_id: row.id,
    project_id: row.project_id,
    status: row.status,
    agent_name: row.agent_name,
    source_manifest_id: row.source_manifest_id,
    target_manifest_id: row.target_manifest_id,
    mode: row.mode,
    runner_url: row.runner_url,
    max_in_flight: row.max_in_flight,
    note: row.note,
    total,
    counts: { pending, leased, completed, failed, skipped, canceled },
    wins: row.wins,
    losses: row.losses,
    ties: row.ties,
    mean_score_delta: row.mean_score_delta === null ? null : roundAverage(row.mean_score_delta),
    paused_reason: row.paused_reason,
    job_id: row.job_id,
    created_by: row.created_by,
    created_at: row.created_at,
    canceled_at: row.canceled_at,
    expires_at: row.expires_at,
  }
}

export async function viewBatchWithTasks(sql: Queryable, row: BatchRow) {
  const tasks = await listTasks(sql, row.org_id, { batchId: row.id }, { limit: TASKS_SHOWN })
  return { ...viewBatch(row), tasks: tasks.map(viewTask) }
}

/** @throws ApiError 404 for a batch that does not exist and for one the caller may not see, alike */
export async function findVisibleBatch(
  { sql }: { readonly sql: Queryable },
  principal: Principal,
  id: string,
): Promise<BatchRow> {
  const row = await findBatch(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!row || !maySee(visible, row.project_id)) throw notFound('Replay batch')
  return row
}

const TASKS_SHOWN = 100
