import { randomUUIDv7 } from 'node:crypto'
import type { Job } from '../jobs/job.ts'
import { WAITING_JOBS } from '../jobs/rules/plan.ts'
import { retryAfter } from '../jobs/rules/retry-after.ts'
import type { Transaction } from '../sql/db.ts'
import { countWaitingJobs, insertJob } from '../sql/jobs.ts'
import type { ApiContext } from './context.ts'
import { ApiError } from './errors.ts'
import type { Principal } from './principal.ts'

export interface Submission {
  readonly projectId: string | null
  /** Path, relative to the base path, of the resource the job makes. */
  readonly resultRef?: string
}

/**
 * Writes a job resource and puts the job into its queue, both in the caller's transaction.
 * @returns the job's id, which is also the key its queue is exclusive about
 * @throws ApiError 429 when as many jobs of the kind wait as the plan allows
 */
export async function submitJob<T extends object>(
  context: ApiContext,
  tx: Transaction,
  principal: Principal,
  job: Job<T>,
  payload: T,
  submission: Submission,
): Promise<string> {
  await admitJob(context, tx, principal, job.name)
  const id = randomUUIDv7()
  const queueJobId = await context.queue.enqueue(tx, job, payload, {
    orgId: principal.orgId,
    jobId: id,
    key: id,
  })
  await insertJob(tx, {
    id,
    org_id: principal.orgId,
    project_id: submission.projectId,
    kind: job.name,
    queue_job_id: queueJobId as string,
    request: payload,
    result_ref: submission.resultRef ?? null,
    created_by: principal.keyId,
    request_id: context.requestId,
  })
  return id
}

/** Submissions side by side may pass the cap by as many as they are. */
export async function admitJob(
  { waiter }: ApiContext,
  tx: Transaction,
  { orgId, plan }: Principal,
  kind: string,
) {
  const cap = WAITING_JOBS[plan]
  if ((await countWaitingJobs(tx, orgId, kind, cap)) < cap) return
  const seconds = retryAfter(0, await waiter.usualSeconds(orgId, kind))
  throw new ApiError(429, 'too_many_jobs', `${cap} jobs of ${kind} wait already`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
