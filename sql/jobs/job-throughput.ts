import type { OpenJobState } from '../../jobs/rules/jobs/job-state.ts'
import { isVisibleWork } from '../core/projects.ts'
import type { VisibleWork } from '../core/projects.ts'
import type { Fragment, Queryable } from '../core/db.ts'

export interface OpenJobs {
  kind: string
  state: OpenJobState
  n: number
  /** When the first of them came into this state or was last written to. */
  oldest_at: Date
}

/**
 * How many jobs there are that have not ended, by kind and state. Plans limit how many wait, and slots how
 * many run.
 */
export async function countOpenJobs(sql: Queryable, orgId: string, visible: VisibleWork) {
  // Either is found by an index of its own.
  const counted = (states: Fragment) => sql`
    select kind, state, count(*) as n, min(updated_at) as oldest_at from jobs j
    where org_id = ${orgId} and ${states} ${isVisibleWork(sql, visible)} group by kind, state`
  return sql<OpenJobs[]>`
    ${counted(sql`state = 'queued'`)} union all ${counted(sql`state in ('running', 'cancelling')`)}
    order by kind, state`
}

/** Jobs that have ended; seconds are null where none of them began. */
export interface EndedJobs {
  /** Both null for all jobs together, else one of them is. */
  kind: string | null
  hour: Date | null
  succeeded: number
  failed: number
  canceled: number
  /** From creation to the first start. */
  wait_p50: number | null
  wait_p95: number | null
  /** From the first start to the end. */
  run_p50: number | null
  run_p95: number | null
}

/** The jobs of these kinds that have ended since a time: all together, by kind, and by hour in UTC. */
export async function sumEndedJobs(
  sql: Queryable,
  orgId: string,
  { since, kinds, ...visible }: VisibleWork & { since: Date; kinds: readonly string[] },
) {
  const percentile = (share: Fragment, from: Fragment, to: Fragment) => sql`
    percentile_cont(${share}) within group (order by extract(epoch from ${to} - ${from})::float8)`
  const wait = (share: Fragment) => percentile(share, sql`created_at`, sql`started_at`)
  const run = (share: Fragment) => percentile(share, sql`started_at`, sql`finished_at`)
  return sql<EndedJobs[]>`
    select kind, hour, count(*) filter (where state = 'succeeded') as succeeded,
      count(*) filter (where state = 'failed') as failed,
      count(*) filter (where state = 'canceled') as canceled,
      ${wait(sql`0.5`)} as wait_p50, ${wait(sql`0.95`)} as wait_p95,
      ${run(sql`0.5`)} as run_p50, ${run(sql`0.95`)} as run_p95
    from (
      select kind, state, created_at, started_at, finished_at,
        date_trunc('hour', finished_at, 'UTC') as hour
      from jobs j
      where org_id = ${orgId} and kind = any(${kinds}::text[]) and finished_at >= ${since}
        ${isVisibleWork(sql, visible)}) ended
    group by grouping sets ((), (kind), (hour))
    order by kind, hour`
}
