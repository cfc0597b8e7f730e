import type { Transaction } from '../../sql/core/db.ts'
import { cancelJob } from '../../sql/transactions/cancel-job.ts'
import type { ApiContext } from '../context.ts'
import { Answer } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { findVisibleJob, viewJob } from './job.ts'

/** @throws ApiError 404, or 409 for a job that has succeeded or failed */
export async function answerCancel(context: ApiContext, principal: Principal, id: string) {
  await findVisibleJob(context, principal, id)
  // Read before others see the request: a worker may end the job at once.
  const { state, job } = await context.sql.begin(async (tx: Transaction) => ({
    state: await cancelJob(tx, context.queue, principal.orgId, id),
    job: await findVisibleJob({ sql: tx }, principal, id),
  }))
  if (state === 'succeeded' || state === 'failed') {
    throw conflict(`The job has ${job.state} already`)
  }
  if (state !== 'cancelling') return new Answer(200, viewJob(job))
  return new Answer(202, viewJob(job), { Location: `/api/v1/jobs/${id}`, 'Retry-After': '1' })
}
