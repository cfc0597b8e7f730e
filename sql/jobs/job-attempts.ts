import type { JobAttemptOutcome } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable } from '../core/db.ts'
import type { JobError } from './jobs.ts'

/** One claim of a job by a worker. */
export interface JobAttemptRow {
  attempt: number
  started_at: Date
  ended_at: Date | null
  /** null while it runs; `lost` when its worker died or went silent. */
  outcome: JobAttemptOutcome | null
  error: JobError | null
}

/** The newest `limit` attempts of a job; the oldest of them comes first. */
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
