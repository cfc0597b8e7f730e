import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable } from '../core/db.ts'
import { isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { jobColumns } from './jobs.ts'
import type { JobRow } from './jobs.ts'

/** For the operator, who sees the jobs of every organization. */
export interface AllJobsFilter {
  readonly orgId?: string | undefined
  readonly kind?: string | undefined
  readonly state?: JobState | undefined
  /** Of the error that the newest attempt ended with. */
  readonly errorCode?: string | undefined
  readonly since?: Date | undefined
  readonly before?: AgeKey | undefined
  readonly limit: number
}

/** Newest first. */
export async function listAllJobs(sql: Queryable, filter: AllJobsFilter) {
  const { orgId, kind, state, errorCode, since, before, limit } = filter
  return sql<JobRow[]>`
    select ${jobColumns(sql)} from jobs
    where true
      ${orgId ? sql`and org_id = ${orgId}` : sql``}
      ${kind ? sql`and kind = ${kind}` : sql``}
      ${state ? sql`and state = ${state}` : sql``}
      ${errorCode ? sql`and error ->> 'code' = ${errorCode}` : sql``}
      ${since ? sql`and created_at >= ${since}` : sql``}
      ${isOlder(sql, sql`(created_at, id)`, before)}
    order by created_at desc, id desc
    limit ${limit}`
}

/** A job of whatever organization: one look-up for each, as there is no index by the id alone. */
export async function findJobOfAny(sql: Queryable, id: string) {
  const [row] = await sql<JobRow[]>`
    select found.* from organizations o cross join lateral (
      select ${jobColumns(sql)} from jobs where org_id = o.id and id = ${id} limit 1
    ) found
    limit 1`
  return row
}
