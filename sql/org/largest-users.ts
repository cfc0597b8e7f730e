import type { Queryable } from '../core/db.ts'

/**
 * Who uses most now, for the operator: each function names the organizations that lead in one respect, the
 * first of them first. Organizations that use nothing of it are left out.
 */

/**
 * By requests: how many seconds without a request would fill the buckets of their keys and sessions again,
 * taken together. Who stays below the rate has hardly any.
 */
export async function findBusiestCallers(sql: Queryable, limit: number) {
  return sql<{ org_id: string; keys_in_use: number; seconds_to_full: number }[]>`
    select b.org_id, count(distinct coalesce(s.key_id, b.key_id))::int as keys_in_use,
      round(sum(extract(epoch from greatest(b.full_at - now(), interval '0'))), 1)::float8
        as seconds_to_full
    from rate_buckets b left join sessions s on s.org_id = b.org_id and s.id = b.key_id
    where b.last_used_at > now() - interval '1 minute'
    group by b.org_id
    order by seconds_to_full desc, keys_in_use desc, org_id limit ${limit}`
}

/** By traces stored in the last day; at most a million of them are looked at. */
export async function findLargestWriters(sql: Queryable, limit: number) {
  return sql<{ org_id: string; traces_last_hour: number; traces_last_day: number }[]>`
    select org_id,
      count(*) filter (where created_at > now() - interval '1 hour')::int as traces_last_hour,
      count(*)::int as traces_last_day
    from (
      select org_id, created_at from traces where created_at > now() - interval '1 day'
      limit ${TRACES_COUNTED}
    ) as stored
    group by org_id
    order by traces_last_hour desc, traces_last_day desc, org_id limit ${limit}`
}

/** By the bytes of their files in storage: those of datasets, and uploads that are still kept. */
export async function findLargestStores(sql: Queryable, limit: number) {
  return sql<{ org_id: string; dataset_bytes: number; upload_bytes: number }[]>`
    select org_id, sum(dataset_bytes)::int8 as dataset_bytes, sum(upload_bytes)::int8 as upload_bytes
    from (
      select org_id, size_bytes as dataset_bytes, 0 as upload_bytes from dataset_files
      union all
      select org_id, 0, bytes_total from imports where storage_key is not null
    ) as files
    group by org_id
    order by sum(dataset_bytes) + sum(upload_bytes) desc, org_id limit ${limit}`
}

const TRACES_COUNTED = 1_000_000
