import Joi from 'joi'
import { MAX_CLAIM } from '../../jobs/rules/replay/attempts.ts'
import type { TaskInput } from '../../jobs/rules/replay/task-input.ts'
import { REPLAYABILITIES } from '../../jobs/rules/replay/replayability.ts'
import { int, listOf, shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Sql } from '../../sql/core/db.ts'
import { claimTasks, skipTask } from '../../sql/replay/leases.ts'
import type { ClaimRequest, LeasedTask } from '../../sql/replay/leases.ts'
import { lackOf, readTaskInputs } from '../../sql/replay/task-inputs.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody, EXAMPLE_ID, projectField, projectQuery, times } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { readableProjects } from '../projects.ts'
import { findVisibleBatch } from './batch.ts'
import { leaseSecondsField } from './lease.ts'
import { taskInputBody } from './task.ts'

const claimedBody = Joi.object({
  id: Joi.string().guid().required(),
  batch_id: Joi.string().guid().required(),
  trace_id: Joi.string().required().description('The trace to be executed again'),
  replayability: Joi.string()
    .valid(...REPLAYABILITIES)
    .required(),
  attempt: Joi.number().integer().required().description('1 for the first time, 3 for the last'),
  lease_token: Joi.string().guid().required().description('Submit the result with it'),
  leased_until: times.required(),
  task_input: taskInputBody.required(),
}).label('ClaimedReplayTask')

export const claimReplayTasks = endpoint('POST', '/replay/tasks/claim', {
  summary: 'Claim replay tasks to execute',
  description:
    'Gives out tasks that wait, and those whose lease has run out, the oldest batch first; a task is given out three times at most. Tasks of a batch in push mode are given out only where batch_id names it. Ask again after Retry-After where there is none; 404 for a batch that does not exist.',
  access: 'key',
  query: projectQuery,
  body: shape(
    { worker_id: text(256).min(1).description('Any name of the worker') },
    {
      project: projectField,
      batch_id: uuidReference(),
      agent_name: textReference(),
      max: int(1, MAX_CLAIM).default(1),
      lease_seconds: leaseSecondsField,
    },
  )
    .label('ReplayClaim')
    .example({ worker_id: 'runner-1', batch_id: EXAMPLE_ID, max: 4 }),
  answers: {
    200: Joi.object({ tasks: listOf(claimedBody).required() }).label('ClaimedReplayTasks'),
    404: errorBody,
  },
  async handle({ context, principal, query, body }) {
    const { sql } = context
    if (body.batch_id !== undefined) await findVisibleBatch(context, principal, body.batch_id)
    const tasks = await claimWithInputs(sql, principal.orgId, {
      projectIds: await readableProjects(sql, principal, query.project),
      batchId: body.batch_id,
      agentName: body.agent_name,
      max: body.max,
      leaseSeconds: body.lease_seconds,
      leasedBy: body.worker_id,
    })
    if (tasks.length > 0) return { tasks }
    return new Answer(200, { tasks }, { 'Retry-After': String(RETRY_SECONDS) })
  },
})

/**
 * Claims up to `max` tasks; one whose trace is gone or cannot be opened is skipped, and another one claimed
 * in its place.
 */
async function claimWithInputs(sql: Sql, orgId: string, request: ClaimRequest) {
  const claimed: object[] = []
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const max = request.max - claimed.length
    const tasks = await claimTasks(sql, orgId, { ...request, max })
    const inputs = await readTaskInputs(sql, orgId, tasks, openTurns())
    for (const task of tasks) {
      const input = inputs.get(task.id)
      if (input) claimed.push(viewClaimed(task, input))
      else await skipTask(sql, task, lackOf(input))
    }
    if (tasks.length < max || claimed.length === request.max) break
  }
  return claimed
}

function viewClaimed(task: LeasedTask, task_input: TaskInput) {
  const { org_id: _o, project_id: _p, target_manifest_id: _t, ...shown } = task
  return { ...shown, task_input }
}

const RETRY_SECONDS = 5
/** How often a claim looks for tasks in place of those that it skipped. */
const MAX_ROUNDS = 10
