import { deleteTraces } from '../../jobs/delete-traces.ts'
import type { Queryable } from '../core/db.ts'

/** An organization some of whose traces came longer ago than it keeps them, perhaps. */
export interface DueRetention {
  readonly org_id: string
  readonly kept_days: number
  /** What came before is deleted. */
  readonly created_before: Date
}

/**
 * At most `limit` of those that have not had a job for it on this day, in UTC, or that have changed the days
 * since. Times are the database's, as those of traces are. Whether traces came so long ago is read from the
 * counts of traces by the months in which they came, so that the job may find that none of them is due yet.
 */
export async function listDueRetentions(sql: Queryable, limit: number) {
  return sql<DueRetention[]>`
    select o.id as org_id, o.retention_days as kept_days, bound as created_before
    from organizations o, lateral (
      select now() - make_interval(days => o.retention_days) as bound) kept
    where o.retention_days is not null and o.deletion_requested_at is null
      and exists (
        select from trace_counts c
        where c.org_id = o.id and c.n > 0 and c.period <= (bound at time zone 'UTC')::date)
      and not exists (
        select from jobs j
        where j.org_id = o.id and j.kind = ${deleteTraces.name} and j.created_by is null
          and j.created_at >= date_trunc('day', now(), 'UTC')
          and j.request -> 'kept_days' = to_jsonb(o.retention_days))
    order by o.id limit ${limit}`
}
