import type { Queryable, Sql, Transaction } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'
import { addPage } from './cell-pages.ts'
import { openFreshCells, storeFreshCells } from './fresh-cells.ts'
import type { CellKey } from './fresh-cells.ts'

/**
 * Notes that the cells of these traces have to be recomputed. Holds a lock until the transaction ends
 * for which `awaitCellWriters` waits; whoever enqueues the recomputation does so after this.
 */
export async function markCellsDirty(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await sql`
    insert into score_cells_dirty (org_id, project_id, agent_name, day)
    select distinct t.org_id, t.project_id, t.agent_name, (t.started_at at time zone 'UTC')::date
    from (select pg_advisory_xact_lock_shared(hashtextextended(${projectId}::text, ${WRITERS}))) as held,
      traces t
    where ${ofTraces(sql, orgId, projectId, traceIds, sql`t.`)}`
}

/**
 * Waits for the transactions that have marked cells and not committed yet. A job that recomputes does
 * this first: they may have found it waiting in the queue and so have enqueued no other. Not to be
 * called in a transaction: the lock must not outlast the statement.
 */
export async function awaitCellWriters(sql: Sql, projectId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${projectId}::text, ${WRITERS}))`
}

/** A day of an agent whose cells were marked. */
export interface DirtyDay {
  agent_name: string
  /** `YYYY-MM-DD`, in UTC. */
  day: string
  /** It has many scores and was summed up just now, so that it can wait. */
  is_early: boolean
}

/** The days of a project whose cells were marked, in order, at most `limit`. */
export async function listDirtyDays(
  sql: Queryable,
  orgId: string,
  projectId: string,
  limit: number,
) {
  return sql<DirtyDay[]>`
    with dirty as (
      select distinct agent_name, day from score_cells_dirty
      where org_id = ${orgId} and project_id = ${projectId} order by day, agent_name limit ${limit}
    )
    select agent_name, day::text as day, (
      select coalesce(sum(n) > ${LARGE_DAY_SCORES}::int
        and max(computed_at) > now() - make_interval(secs => ${LARGE_DAY_SECONDS}), false)
      from score_cells c where c.org_id = ${orgId} and c.project_id = ${projectId}
        and c.agent_name = dirty.agent_name and c.day = dirty.day
    ) as is_early
    from dirty order by dirty.day, agent_name`
}

/**
 * Recomputes the cells of a day, if they are marked, from the scores as they are. Call it once in a
 * transaction. However many scores the day has, a statement reads those of a page of traces, or
 * compares the sums of a part of the cells; only what differs is written.
 * @returns false when another transaction is doing so: scores that it has not seen may be left
 */
export async function recomputeDay(tx: Transaction, key: CellKey): Promise<boolean> {
  if (!(await lockDay(tx, key))) return false
  if (!(await takeMarks(tx, key))) return true
  await openFreshCells(tx)
  let after = await addPage(tx, key, undefined)
  while (after) after = await addPage(tx, key, after)
  await storeFreshCells(tx, key)
  return true
}

/** So that older sums never take the place of newer ones. Waits for nobody. */
async function lockDay(tx: Transaction, { projectId, agentName, day }: CellKey) {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(
      hashtextextended(${`${projectId} ${day} ${agentName}`}::text, ${RECOMPUTING})) as locked`
  return row?.locked ?? false
}

/** Takes the marks off the cells of the day; false when there are none. */
async function takeMarks(tx: Transaction, { orgId, projectId, agentName, day }: CellKey) {
  const taken = await tx`
    delete from score_cells_dirty where org_id = ${orgId} and project_id = ${projectId}
      and agent_name = ${agentName} and day = ${day}::date`
  return taken.count > 0
}

/** A day of more scores than this is summed up at most once in that time. */
const LARGE_DAY_SCORES = 50_000
export const LARGE_DAY_SECONDS = 30
/** Second arguments of the hash behind the advisory locks: two numbers that nothing else uses. */
const WRITERS = 7_304_521
const RECOMPUTING = 7_304_522
