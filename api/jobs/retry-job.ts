import { jobs } from '../../jobs/index.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { restartJob } from '../../sql/jobs/jobs.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { requireJobRoom } from '../admit-job.ts'
import { findVisibleJob, jobBody, jobPath, viewJob } from './job.ts'

export const retryJob = endpoint('POST', '/jobs/{job_id}/retry', {
  summary: 'Try a failed job again, from its last checkpoint',
  access: 'key',
  params: jobPath,
  answers: { 202: jobBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const found = await findVisibleJob(context, principal, params.job_id)
    const declared = jobs.find(({ name }) => name === found.kind)
    if (found.state !== 'failed' || !declared) throw conflict('Only a failed job can be retried')
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await requireJobRoom(context, tx, principal, found.kind)
      const queueJobId = await context.queue.enqueue(tx, declared, found.request, {
        orgId: principal.orgId,
        jobId: found.id,
        key: found.id,
      })
      const restarted = queueJobId && (await restartJob(tx, principal.orgId, found.id, queueJobId))
      if (!restarted) throw conflict('Only a failed job can be retried')
    })
    const job = await findVisibleJob(context, principal, found.id)
    return new Answer(202, viewJob(job), { Location: `/api/v1/jobs/${job.id}`, 'Retry-After': '1' })
  },
})
