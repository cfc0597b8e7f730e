import type { Queryable } from './db.ts'
import type { JobError } from './jobs.ts'

/** One time a worker took a job. */
export interface JobAttemptRow {
  attempt: number
  started_at: Date
  ended_at: Date | null
  /** null while it runs; `lost` when its worker was not heard of again. */
  outcome: 'succeeded' | 'failed' | 'cancelled' | 'released' | 'continued' | 'lost' | null
  error: JobError | null
}

/** The newest `limit` attempts of a job, oldest of them first. */
export async function listJobAttempts(
  sql: Queryable,
  orgId: string,
  jobId: string,
  limit: number,
): Promise<JobAttemptRow[]> {
  const rows = await sql<JobAttemptRow[]>`
    select attempt, started_at, ended_at, outcome, error from job_attempts
    where org_id = ${orgId} and job_id = ${jobId}
    order by attempt desc
    limit ${limit}`
  return rows.reverse()
}
