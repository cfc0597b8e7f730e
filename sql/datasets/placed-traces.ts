import type { Queryable } from '../core/db.ts'
import type { Selection } from './trace-filters.ts'

/** The id of a trace, and the period whose partitions have what belongs to it. */
export interface PlacedTrace {
  readonly trace_id: string
  /** `YYYY-MM-DD`. */
  readonly period: string
}

/**
 * The condition that a row of a partitioned table is of one of these traces of the project. It lists
 * their ids and periods beside each other, because an index is then read once, in its order, in each of
 * the partitions; an id is of one period only.
 * @param row what names the table, with a dot, where several have such columns
 */
export function ofPlaced(
  sql: Queryable,
  { orgId, projectId }: Selection,
  traces: readonly PlacedTrace[],
  row = sql``,
) {
  const periods = [...new Set(traces.map(({ period }) => period))]
  return sql`${row}org_id = ${orgId} and ${row}project_id = ${projectId}
    and ${row}period = any(${periods}::date[])
    and ${row}trace_id = any(${traces.map(({ trace_id }) => trace_id)}::text[])`
}
