import { onlyRow, unprepared } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import type { TraceFilter } from './trace-filter.ts'
import { fulfils, readOf, walkedRows } from './trace-matches.ts'
import { ofTraces } from './traces.ts'

/** Where a walk is in a project: behind the trace with this key. */
export interface WalkCursor {
  readonly started_at: Date
  readonly trace_id: string
}

/** A trace that a walk has come to. */
export interface WalkedTrace extends WalkCursor {
  /** Whether the filter holds for it; for others some conditions do. */
  readonly matches: boolean
}

/**
 * The next traces of a project that may fulfil a filter, newest first. A walk reads along one index and so
 * takes as long as what that has of the filter, however much of it is gone already.
 */
export async function walkTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  filter: TraceFilter,
  { after, limit }: { readonly after: WalkCursor | undefined; readonly limit: number },
) {
  const from = after && { ...after, project_id: projectId }
  const read = readOf(sql, orgId, { ...filter, projectIds: [projectId] }, from)
  return unprepared(sql<WalkedTrace[]>`
    select trace_id, started_at, matches from (${walkedRows(sql, read, limit)}) walked
    order by started_at desc, trace_id desc`)
}

/**
 * Which of these traces are there and fulfil the filter. Nobody reads them to change or judge them before the
 * transaction ends, which may delete them. They are locked in the order in which judgement locks traces.
 */
export async function lockMatches(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
  filter: TraceFilter,
) {
  const known = ofTraces(tx, orgId, projectId, traceIds, tx`t.`)
  await tx`select from traces t where ${known} order by t.trace_id for update`
  // A statement of its own sees the verdicts of those that the locks were waited for.
  const rows = await tx<{ trace_id: string }[]>`
    select t.trace_id from traces t where ${known} and ${fulfils(tx, orgId, filter)}
    order by t.trace_id`
  return rows.map(({ trace_id }) => trace_id)
}

/** A time after the arrival of all traces that are there, and before that of those that come later. */
export async function findArrivalBound(tx: Transaction) {
  const { bound } = onlyRow(
    await tx<{ bound: Date }[]>`
    select date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' as bound`,
  )
  return bound
}
