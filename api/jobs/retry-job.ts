import { shape, uuid } from '../../jobs/shape.ts'
import { jobs } from '../../jobs/index.ts'
import type { Transaction } from '../../sql/db.ts'
import { restartJob } from '../../sql/jobs.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { admitJob } from '../submit.ts'
import { findVisibleJob, jobBody, showJob } from './show-job.ts'

export const retryJobOperation = endpoint('POST', '/jobs/{job_id}/retry', {
  area: 'jobs',
  summary: 'Try a failed job again, from its last checkpoint',
  access: 'key',
  params: shape({ job_id: uuid() }),
  answers: { 202: jobBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params }) {
    const found = await findVisibleJob(context, principal, params.job_id)
    const declared = jobs.find(({ name }) => name === found.kind)
    if (found.state !== 'failed' || !declared) throw conflict('Only a failed job can be retried')
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await admitJob(context, tx, principal, found.kind)
      const queueJobId = await context.queue.enqueue(tx, declared, found.request, {
        orgId: principal.orgId,
        jobId: found.id,
        key: found.id,
      })
      const restarted = queueJobId && (await restartJob(tx, principal.orgId, found.id, queueJobId))
      if (!restarted) throw conflict('Only a failed job can be retried')
    })
    const job = await findVisibleJob(context, principal, found.id)
    return new Answer(202, showJob(job), { Location: `/api/v1/jobs/${job.id}`, 'Retry-After': '1' })
  },
})
