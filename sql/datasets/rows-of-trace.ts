import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import { countUpTo } from '../core/pages.ts'
import type { TraceKey } from '../traces/traces.ts'

/** A row of a ready version that was made of a trace. */
export interface RowOfTrace {
  dataset_id: string
  dataset_name: string
  version_id: string
  version_number: number
  ordinal: number
  /** Hex. */
  row_id: string
  split: Split
  /** Of a pair, what the trace is in it; null for a row that is no pair. */
  side: 'chosen' | 'rejected' | 'both' | null
}

/** A trace, and when it was stored: versions older than that have rows of another one that had its id. */
type StoredTrace = TraceKey & { readonly created_at: Date }

/** Newest version first, as ids of versions ascend in time; within a version by ordinal. */
export async function listRowsOfTrace(
  sql: Queryable,
  trace: StoredTrace,
  {
    after,
    limit,
  }: { after?: Pick<RowOfTrace, 'version_id' | 'ordinal'> | undefined; limit: number },
) {
  const isAfter = after
    ? sql`and (r.version_id < ${after.version_id}
        or r.version_id = ${after.version_id} and r.ordinal > ${after.ordinal})`
    : sql``
  return sql<RowOfTrace[]>`
    select v.dataset_id, d.name as dataset_name, v.id as version_id, v.version_number, r.ordinal,
      encode(substr(r.row_hash, 1, 16), 'hex') as row_id, r.split,
      case when r.rejected_trace_id is null then null
        when r.rejected_trace_id = r.trace_id then 'both'
        when r.trace_id = ${trace.trace_id} then 'chosen' else 'rejected' end as side
    from ${rowsOf(sql, trace)} ${isAfter}
    order by r.version_id desc, r.ordinal limit ${limit}`
}

/** How many there are, counted no further than `limit`. */
export async function countRowsOfTrace(sql: Queryable, trace: StoredTrace, limit: number) {
  return countUpTo(sql, limit, rowsOf(sql, trace))
}

function rowsOf(sql: Queryable, { org_id, project_id, trace_id, created_at }: StoredTrace) {
  // Each half has its index. The limit must not make the planner walk through all rows in their order.
  return sql`(
      select * from dataset_version_rows where org_id = ${org_id} and trace_id = ${trace_id}
      union all
      select * from dataset_version_rows
      where org_id = ${org_id} and rejected_trace_id = ${trace_id} and trace_id <> ${trace_id}
      offset 0) r
    join dataset_versions v on v.org_id = r.org_id and v.id = r.version_id
    join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
    where d.project_id = ${project_id} and v.ready_at > ${created_at} and not v.restored`
}
