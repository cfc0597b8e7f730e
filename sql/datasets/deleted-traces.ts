import type { Queryable, Sql, Transaction } from '../core/db.ts'
import { withSettings } from '../core/db.ts'
import { awaitCellWriters } from '../evals/cell-marks.ts'
import type { TraceKey } from '../traces/traces.ts'

/**
 * Which traces of the rows of versions are gone. A trace goes alone, which is noted here, or with its
 * month, whose traces in a version were counted when it was built: neither takes longer for more rows.
 */

/**
 * Notes that a trace is about to be deleted, for the versions that have rows of it. Its cells are marked
 * before, for which `placeTraces` waits.
 */
export async function noteDeletion(tx: Transaction, key: TraceKey) {
  const { org_id: orgId, project_id: projectId, trace_id: traceId } = key
  await tx`
    insert into dataset_deleted_traces (org_id, version_id, trace_id, period)
    select v.org_id, v.id, t.trace_id, t.period
    from traces t
    join dataset_versions v on v.org_id = t.org_id and v.id in (
      select version_id from dataset_version_rows where org_id = ${orgId} and trace_id = ${traceId}
      union all
      select version_id from dataset_rejected_traces where org_id = ${orgId} and trace_id = ${traceId})
    join datasets d on d.org_id = v.org_id and d.id = v.dataset_id and d.project_id = t.project_id
    where t.org_id = ${orgId} and t.project_id = ${projectId} and t.trace_id = ${traceId}
      -- An older version has another trace, that had this id before.
      and (v.ready_at is null or v.ready_at > t.created_at)
    on conflict do nothing`
}

/**
 * How many traces of a version's rows came in which month, by its first day, `YYYY-MM-DD`. Those that are
 * gone already are noted instead. Not to be called in a transaction.
 */
export async function placeTraces(sql: Sql, orgId: string, projectId: string, versionId: string) {
  // Who deletes a trace and did not see the rows has committed then, and everybody else sees them.
  await awaitCellWriters(sql, projectId)
  const settings = { statement_timeout: String(PLACING_MS) }
  const rows = await withSettings(sql, settings, (tx) => {
    const ofVersion = tx`where org_id = ${orgId} and version_id = ${versionId}`
    return tx<{ period: string; n: number }[]>`
      with placed as materialized (
        select r.trace_id, k.period from (
          select trace_id from dataset_version_rows ${ofVersion}
          union
          select trace_id from dataset_rejected_traces ${ofVersion}) r
        left join trace_ids k on k.org_id = ${orgId} and k.project_id = ${projectId}
          and k.trace_id = r.trace_id
      ), gone as (
        insert into dataset_deleted_traces (org_id, version_id, trace_id)
        select ${orgId}, ${versionId}, trace_id from placed where period is null
        on conflict (org_id, version_id, trace_id) do update set period = null
      )
      select period::text as period, count(*)::int8 as n from placed
      where period is not null group by 1 order by 1`
  })
  return Object.fromEntries(rows.map(({ period, n }) => [period, n]))
}

/** The traces of a version's rows that are gone. */
export interface GoneTraces {
  version_id: string
  /** All that went with their months, and at most `MAX_NOTED` others. */
  count: number
  /** Some that went alone, at most `MAX_SUBJECTS`. */
  trace_ids: string[]
}

/** Of those of these versions that have any. */
export async function countGoneTraces(
  sql: Queryable,
  orgId: string,
  versionIds: readonly string[],
) {
  const isStored = sql`exists (
    select from trace_periods p where p.period = e.period::date and p.dropped_at is null)`
  return sql<GoneTraces[]>`
    select * from (
      select v.id as version_id, with_month.n + alone.n as count, alone.trace_ids
      from dataset_versions v, lateral (
        select coalesce(sum(e.n::int8), 0)::int8 as n from jsonb_each_text(v.trace_periods) e (period, n)
        where not ${isStored}) with_month, lateral (
        select count(*) as n,
          coalesce((array_agg(trace_id order by trace_id collate "C"))[1:${MAX_SUBJECTS}], '{}') as trace_ids
        from (
          select e.trace_id from dataset_deleted_traces e
          where e.org_id = v.org_id and e.version_id = v.id and (e.period is null or ${isStored})
          order by e.trace_id limit ${MAX_NOTED}) noted) alone
      where v.org_id = ${orgId} and v.id = any(${versionIds}::uuid[])) gone
    where count > 0`
}

/** How long the months of millions of traces may take. */
const PLACING_MS = 600_000
const MAX_NOTED = 10_000
/** How many of the things that make a version stale are named. */
export const MAX_SUBJECTS = 20
