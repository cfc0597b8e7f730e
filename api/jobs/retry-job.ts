import { deleteTraces } from '../../jobs/delete-traces.ts'
import { jobs } from '../../jobs/index.ts'
import { restoreBackup } from '../../jobs/restore-backup.ts'
import { bool, shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findSecret } from '../../sql/jobs/job-secrets.ts'
import { restartJob } from '../../sql/jobs/jobs.ts'
import type { JobError } from '../../sql/jobs/jobs.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, conflict, forbidden } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { requireJobRoom } from '../admit-job.ts'
import { findVisibleJob, jobBody, jobPath, viewJob } from './job.ts'

export const retryJob = endpoint('POST', '/jobs/{job_id}/retry', {
  summary: 'Try a failed job again, from its last checkpoint',
  description:
    'Refused with `not_retryable` when the error says that another try would fail as well, unless `force` is true, and with `secret_gone` when the job was given a secret, which has ended with it.',
  access: 'key',
  params: jobPath,
  body: shape({}, { force: bool().default(false) })
    .example({ force: true })
    .label('JobRetry'),
  answers: { 202: jobBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, body }) {
    const found = await findVisibleJob(context, principal, params.job_id)
    const isOwn = found.created_by === principal.keyId
    if (ADMIN_KINDS.has(found.kind) && principal.permissions !== 'admin' && !isOwn) {
      throw forbidden(
        `Only an admin key, or the one that asked for it, may have ${found.kind} tried again`,
      )
    }
    const declared = jobs.find(({ name }) => name === found.kind)
    if (found.state !== 'failed' || !declared) throw conflict('Only a failed job can be retried')
    const secret = await findSecret(context.sql, principal.orgId, found.id)
    if (secret === null) throw secretGone()
    if (found.error?.retryable === false && !body.force) throw notRetryable(found.error)
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

/** A deletion, and a restore, which has the rights of the key that asked for it. */
const ADMIN_KINDS: ReadonlySet<string> = new Set([deleteTraces.name, restoreBackup.name])

function notRetryable({ code }: JobError) {
  const detail = `The job failed with ${code}, which another try does not mend; \`force\` tries it nevertheless`
  return new ApiError(409, 'not_retryable', detail)
}

function secretGone() {
  const detail = 'The secret that the job was given has ended with it: send the request again'
  return new ApiError(409, 'secret_gone', detail)
}
