import type { Queryable, Sql, Transaction } from '../core/db.ts'
import { awaitSharers, sharedLock } from '../core/project-lock.ts'
import { ofTraces } from '../traces/traces.ts'

/**
 * Which traces of the rows of versions are gone. A trace goes alone, which is noted here, or with its
 * month, whose traces in a version were counted when it was built: neither takes longer for more rows.
 *
 * A build reads its traces in one snapshot, `awaitDeletions` before it. Who deletes a trace that the
 * snapshot has comes later than that and so sees the version, and notes the trace whether or not the
 * version will have a row of it. That shows in the rows once they are there.
 */

/** Notes that traces are about to be deleted, for the versions that have rows of them or may have some. */
export async function noteDeletions(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  await tx`select ${sharedLock(tx, projectId, 'deletions')}`
  // The notes of a version are only counted up to that many, and no lock is taken for it.
  const hasRoom = tx`(
    select count(*) from (
      select from dataset_deleted_traces e
      where e.org_id = v.org_id and e.version_id = v.id and not e.while_built
      limit ${MAX_NOTED}) noted) < ${MAX_NOTED}`
  await tx`
    with used as materialized (
      select version_id, trace_id from dataset_version_rows
      where org_id = ${orgId} and trace_id = any(${traceIds}::text[])
      union
      select version_id, rejected_trace_id from dataset_version_rows
      where org_id = ${orgId} and rejected_trace_id = any(${traceIds}::text[])
      union
      select b.id, named.trace_id
      from dataset_versions b
      join jobs j on j.org_id = b.org_id and j.id = b.job_id and j.finished_at is null
      cross join unnest(${traceIds}::text[]) as named (trace_id)
      where b.org_id = ${orgId} and b.ready_at is null
    ), versions as materialized (
      select v.id, v.ready_at from dataset_versions v
      join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
      where v.org_id = ${orgId} and v.id in (select version_id from used)
        and d.project_id = ${projectId} and (v.ready_at is null or ${hasRoom})
      -- One that is deleted meanwhile needs no note.
      for key share of v
    )
    insert into dataset_deleted_traces (org_id, version_id, trace_id, period, while_built)
    select t.org_id, v.id, t.trace_id, t.period, v.ready_at is null
    from used u join versions v on v.id = u.version_id
    join traces t on t.trace_id = u.trace_id
    where ${ofTraces(tx, orgId, projectId, traceIds, tx`t.`)}
      -- An older version has another trace, that had this id before.
      and (v.ready_at is null or v.ready_at > t.created_at)
    on conflict do nothing`
}

/**
 * Waits for the transactions that delete a trace of a project and may not have seen a version that is there
 * by now. Not to be called in a transaction.
 */
export async function awaitDeletions(sql: Sql, projectId: string) {
  await awaitSharers(sql, projectId, 'deletions')
}

/**
 * Forgets the deleted traces of which a version, whose rows are all stored, has no row, among the next `limit`
 * behind one.
 * @returns the last of them; undefined when there is no next one
 */
export async function forgetUnused(
  tx: Transaction,
  orgId: string,
  versionId: string,
  { after, limit }: { after: string; limit: number },
) {
  const [row] = await tx<[{ last: string | null }]>`
    with page as materialized (
      select org_id, version_id, trace_id from dataset_deleted_traces
      where org_id = ${orgId} and version_id = ${versionId} and trace_id > ${after}
      order by trace_id limit ${limit}
    ), forgotten as (
      delete from dataset_deleted_traces d using page e
      where d.org_id = e.org_id and d.version_id = e.version_id and d.trace_id = e.trace_id
        and not ${hasRow(tx)}
    )
    select max(trace_id) as last from page`
  return row.last ?? undefined
}

/** The traces of a version's rows that are gone. */
export interface GoneTraces {
  version_id: string
  /** All that went with their months, and at most `MAX_NOTED` others. */
  count: number
  /** Some that went alone, at most `MAX_SUBJECTS`. */
  trace_ids: string[]
}

/**
 * Of those of these versions that have any. Nothing is known of a restored version, since it has no rows. Of a
 * version that the release before built, which did not count months, no more is known than was noted.
 */
export async function countGoneTraces(
  sql: Queryable,
  orgId: string,
  versionIds: readonly string[],
) {
  const stored = sql`(select period from trace_periods where dropped_at is null)`
  return sql<GoneTraces[]>`
    select * from (
      select v.id as version_id, with_month.n + alone.n as count, alone.trace_ids
      from dataset_versions v, lateral (
        select coalesce(sum(e.n::int8), 0)::int8 as n from jsonb_each_text(v.trace_months) e (period, n)
        where e.period::date not in ${stored}) with_month, lateral (
        select count(*) as n, coalesce(
          array_agg(trace_id order by trace_id collate "C") filter (where n <= ${MAX_SUBJECTS}),
          '{}') as trace_ids
        from (
          select e.trace_id, row_number() over (order by e.trace_id) as n
          from dataset_deleted_traces e
          where e.org_id = v.org_id and e.version_id = v.id
            and (v.trace_months is null or e.period in ${stored})
            and (not e.while_built or ${hasRow(sql)})
          order by e.trace_id limit ${MAX_NOTED}) noted) alone
      where v.org_id = ${orgId} and v.id = any(${versionIds}::uuid[]) and not v.restored) gone
    where count > 0`
}

/** Whether the version of note `e` has a row of its trace. */
function hasRow(sql: Queryable) {
  return sql`(
    exists (
      select from dataset_version_rows r
      where r.org_id = e.org_id and r.version_id = e.version_id and r.trace_id = e.trace_id)
    or exists (
      select from dataset_version_rows r
      where r.org_id = e.org_id and r.version_id = e.version_id and r.rejected_trace_id = e.trace_id))`
}

/** So many deleted traces of a version are noted and counted, about: a deletion that finds room notes all of its traces. */
const MAX_NOTED = 1000
/** How many of the things that make a version stale are named. */
export const MAX_SUBJECTS = 20
