import { randomUUIDv7 } from 'node:crypto'
import type { Job } from '../../jobs/job.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Queryable } from '../core/db.ts'
import { insertJob } from '../jobs/jobs.ts'

export interface Submission {
  readonly orgId: string
  readonly projectId: string | null
  /** The id of the API key; null for a worker. */
  readonly createdBy: string | null
  /** Path, relative to the base path, of the resource the job makes. */
  readonly resultRef?: string | undefined
  /** The id of the idempotency key it is submitted under, if any. */
  readonly requestId?: string | undefined
}

/**
 * Writes a job resource and puts the job into its queue, both in one statement, which needs no transaction
 * of its own.
 * @returns the job's id, which is also its key in the queue
 */
export async function submitJob<T extends object>(
  sql: Queryable,
  queue: Queue,
  job: Job<T>,
  payload: T,
  { orgId, projectId, createdBy, resultRef, requestId }: Submission,
): Promise<string> {
  const id = randomUUIDv7()
  const added = await queue.enqueue(sql, job, payload, {
    orgId,
    jobId: id,
    key: id,
    insert: (row) =>
      insertJob(sql, row, {
        id,
        org_id: orgId,
        project_id: projectId,
        request: payload,
        result_ref: resultRef ?? null,
        created_by: createdBy,
        request_id: requestId,
      }),
  })
  if (added === null) throw new Error(`The queue already holds a job with the key ${id}`)
  return id
}
