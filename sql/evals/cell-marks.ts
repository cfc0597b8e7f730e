import type { Fragment, Queryable, Sql } from '../core/db.ts'
import { awaitSharers, sharedLock } from '../core/project-lock.ts'
import { areDivided } from '../traces/divided.ts'
import { isSameTrace, ofTraces } from '../traces/traces.ts'

/**
 * Cells sum up the scores of the traces that have a verdict. What they do not show yet is marked by the
 * transaction that changes it, with one row a trace or a day of an agent, so that this holds at all times:
 * where the day itself is not marked, its judged traces are those in its cells and those that are marked,
 * and none is both.
 *
 * - The first verdict of a trace marks the trace, which no cell has in it yet.
 * - Whatever else changes a trace that has a verdict marks its day: a score, another verdict, another agent
 *   or start (then both days), manifest, session or task, the end of its verdict, its deletion.
 * - Whoever writes that holds a lock of the trace, so that it is not judged or moved at the same time.
 * - A worker reads marks and scores in one snapshot and stores the sums with the removal of those marks:
 *   what the sums lack is what is marked still (`aggregateDay`).
 */

/**
 * Has the days of those of these traces added up anew that have a verdict. The transaction has locked the
 * traces (`lockTraces`, `lockStoredTraces`, or an update) in an earlier statement.
 *
 * This and `markJudged` hold a lock until the transaction ends for which `awaitCellWriters` waits; whoever
 * requests the aggregation does so after this.
 */
export async function markCellsDirty(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await markDays(
    sql,
    sql`
      select t.org_id, t.project_id, t.agent_name, ${dayOf(sql)} as day
      from ${heldFor(sql, projectId)}, traces t
        join verdicts v on ${isSameTrace(sql, sql`v`, sql`t`)}
      where ${ofTraces(sql, orgId, projectId, traceIds, sql`t.`)}`,
  )
}

/**
 * Has days added up anew.
 * @param days a query of `org_id`, `project_id`, `agent_name` and `day`, the date of the start in UTC
 */
export async function markDays(sql: Queryable, days: Fragment) {
  await sql`
    insert into score_cells_dirty (org_id, project_id, agent_name, day)
    select distinct org_id, project_id, agent_name, day from (${days}) as d`
}

/**
 * Has traces added to their cells whose first verdict this transaction has stored. In a database that is
 * not divided into periods the release before may be at work, which adds up days and knows no other marks.
 */
export async function markJudged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await sql`
    insert into score_cells_dirty (org_id, project_id, agent_name, day, trace_id)
    select distinct t.org_id, t.project_id, t.agent_name, ${dayOf(sql)},
      case when (select ${areDivided(sql)}) then t.trace_id end
    from ${heldFor(sql, projectId)}, traces t
    where ${ofTraces(sql, orgId, projectId, traceIds, sql`t.`)}`
}

/**
 * Waits for the transactions that have marked cells and not committed yet. A job that aggregates does
 * this first: they may have found it waiting in the queue and so have enqueued no other. Not to be
 * called in a transaction: the lock must not outlast the statement.
 */
export async function awaitCellWriters(sql: Sql, projectId: string) {
  await awaitSharers(sql, projectId, 'cell_marks')
}

/** A day of an agent that is marked, or traces of it. */
export interface DirtyDay {
  agent_name: string
  /** `YYYY-MM-DD`, in UTC. */
  day: string
  /** It has many scores and was added up anew just now, so that doing so again can wait. */
  is_early: boolean
}

/** The days of a project of which something is marked, in order, at most `limit`. */
export async function listDirtyDays(
  sql: Queryable,
  orgId: string,
  projectId: string,
  limit: number,
) {
  return sql<DirtyDay[]>`
    with dirty as (
      select agent_name, day, bool_or(trace_id is null) as is_marked from score_cells_dirty
      where org_id = ${orgId} and project_id = ${projectId}
      group by agent_name, day order by day, agent_name limit ${limit}
    )
    select agent_name, day::text as day, case when is_marked then (
      -- The oldest cell tells when: those that traces are added to keep their time.
      select coalesce(sum(n) > ${LARGE_DAY_SCORES}::int
        and min(computed_at) > now() - make_interval(secs => ${LARGE_DAY_SECONDS}), false)
      from score_cells c where c.org_id = ${orgId} and c.project_id = ${projectId}
        and c.agent_name = dirty.agent_name and c.day = dirty.day
    ) else false end as is_early
    from dirty order by dirty.day, agent_name`
}

function dayOf(sql: Queryable) {
  return sql`(t.started_at at time zone 'UTC')::date`
}

function heldFor(sql: Queryable, projectId: string) {
  return sql`
    (select ${sharedLock(sql, projectId, 'cell_marks')}) as held`
}

/** A day of more scores than this is added up anew at most once in that time. */
const LARGE_DAY_SCORES = 50_000
export const LARGE_DAY_SECONDS = 30
