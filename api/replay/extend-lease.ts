import Joi from 'joi'
import { shape, uuidReference } from '../../jobs/shape.ts'
import { extendLease } from '../../sql/replay/leases.ts'
import { findTaskResult } from '../../sql/replay/submitted-tasks.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, EXAMPLE_ID, times } from '../fields.ts'
import { leaseLost, leaseSecondsField } from './lease.ts'
import { findVisibleTask, taskPath } from './task.ts'
import { taskConflictBody, taskEnded } from './task-result.ts'

export const extendReplayLease = endpoint('POST', '/replay/tasks/{task_id}/heartbeat', {
  summary: 'Prolong the lease of a replay task',
  description: 'A lease that has run out is prolonged too, while nobody else has taken the task.',
  access: 'key',
  params: taskPath,
  body: shape({ lease_token: uuidReference() }, { lease_seconds: leaseSecondsField })
    .label('ReplayHeartbeat')
    .example({ lease_token: EXAMPLE_ID }),
  answers: {
    200: Joi.object({ leased_until: times.required() }).label('ReplayLease'),
    404: errorBody,
    409: taskConflictBody,
  },
  async handle({ context, principal, params, body }) {
    const { sql } = context
    const { id, org_id } = await findVisibleTask(context, principal, params.task_id)
    const lease = { org_id, id, lease_token: body.lease_token }
    const leased_until = await extendLease(sql, lease, body.lease_seconds)
    if (leased_until) return { leased_until }
    const { has_ended, ...result } = await findTaskResult(sql, org_id, id)
    throw has_ended ? taskEnded(result) : leaseLost()
  },
})
