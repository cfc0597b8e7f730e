import type { Job } from '../jobs/job.ts'
import { WAITING_JOBS } from '../jobs/rules/org/plan.ts'
import { retryAfter } from '../jobs/rules/webhooks/retry-after.ts'
import type { Queryable } from '../sql/core/db.ts'
import { countWaitingJobs } from '../sql/jobs/jobs.ts'
import { submitJob } from '../sql/transactions/submit-job.ts'
import type { Submission } from '../sql/transactions/submit-job.ts'
import type { ApiContext } from './context.ts'
import type { Principal } from './principal.ts'
import { limitReached } from './rate-limit.ts'

/**
 * Submits a job for a client, unless too many of its kind wait. Given the pool, it commits by itself.
 * @returns the job's id
 * @throws ApiError 429 when as many jobs of the kind wait as the plan allows
 */
export async function admitJob<T extends object>(
  context: ApiContext,
  sql: Queryable,
  principal: Principal,
  job: Job<T>,
  payload: T,
  submission: Pick<Submission, 'projectId' | 'resultRef'>,
): Promise<string> {
  await requireJobRoom(context, sql, principal, job.name)
  const { queue, requestId } = context
  const { orgId, keyId: createdBy } = principal
  return submitJob(sql, queue, job, payload, { ...submission, orgId, createdBy, requestId })
}

/**
 * Concurrent submissions may exceed the cap by their number.
 * @throws ApiError 429 when as many jobs of the kind wait as the plan allows
 */
export async function requireJobRoom(
  { waiter }: ApiContext,
  sql: Queryable,
  { orgId, plan }: Principal,
  kind: string,
) {
  const cap = WAITING_JOBS[plan]
  if ((await countWaitingJobs(sql, orgId, kind, cap)) < cap) return
  const seconds = retryAfter(0, await waiter.usualSeconds(orgId, kind))
  const detail = `${cap} jobs of ${kind} wait already`
  throw limitReached('waiting_jobs', seconds, 'too_many_jobs', detail)
}
