import { shape, uuid } from '../../jobs/shape.ts'
import { bossDatabase, CANCEL_CHANNEL } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/db.ts'
import { requestCancel } from '../../sql/jobs.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { findVisibleJob, jobBody, showJob } from './show-job.ts'

export const cancelJobOperation = endpoint('POST', '/jobs/{job_id}/cancel', {
  area: 'jobs',
  summary: 'Cancel a job',
  description:
    'A waiting job is cancelled at once; a running one stops at its next safe point, and what it has committed stays.',
  access: 'key',
  params: shape({ job_id: uuid() }),
  answers: { 200: jobBody, 202: jobBody, 404: errorBody, 409: errorBody },
  handle: ({ context, principal, params }) => cancelJob(context, principal, params.job_id),
})

/** @throws ApiError 404, or 409 for a job that has succeeded or failed */
export async function cancelJob(context: ApiContext, principal: Principal, id: string) {
  const { kind } = await findVisibleJob(context, principal, id)
  const change = await context.sql.begin(async (tx: Transaction) => {
    const changed = await requestCancel(tx, principal.orgId, id)
    if (changed?.before === 'queued') {
      await context.boss.cancel(kind, changed.queue_job_id, { db: bossDatabase(tx) })
    }
    return changed
  })
  const job = await findVisibleJob(context, principal, id)
  if (change?.after === 'succeeded' || change?.after === 'failed') {
    throw conflict(`The job has ${job.state} already`)
  }
  if (change?.after !== 'cancelling') {
    context.queue.announceEnd(id)
    return new Answer(200, showJob(job))
  }
  await context.sql`select pg_notify(${CANCEL_CHANNEL}, ${id})`
  return new Answer(202, showJob(job), { Location: `/api/v1/jobs/${id}`, 'Retry-After': '1' })
}
