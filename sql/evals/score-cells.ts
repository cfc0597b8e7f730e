import type { Queryable, Sql } from '../core/db.ts'
import { addPage } from './cell-pages.ts'
import type { CellKey } from './cell-pages.ts'

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
    where t.org_id = ${orgId} and t.project_id = ${projectId}
      and t.trace_id = any(${traceIds}::text[])`
}

/**
 * Waits for the transactions that have marked cells and not committed yet. A job that recomputes does
 * this first: they may have found it waiting in the queue and so have enqueued no other. Not to be
 * called in a transaction: the lock must not outlast the statement.
 */
export async function awaitCellWriters(sql: Sql, projectId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${projectId}::text, ${WRITERS}))`
}

/**
 * Recomputes up to `limit` pairs of agent and day that were marked, from the scores as they are, and
 * returns how many there were. Call it in a transaction; those of one project go one after another,
 * so that older sums never take the place of newer ones. However many scores a day has, each statement
 * reads those of a page of traces.
 */
export async function recomputeCells(
  sql: Queryable,
  orgId: string,
  projectId: string,
  limit: number,
): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${projectId}::text, ${RECOMPUTING}))`
  const taken = await takeDirty(sql, orgId, projectId, limit)
  for (const { agent_name, day } of taken) {
    const key = { orgId, projectId, agentName: agent_name, day }
    await deleteCells(sql, key)
    let after = await addPage(sql, key, undefined)
    while (after) after = await addPage(sql, key, after)
  }
  return taken.length
}

async function takeDirty(sql: Queryable, orgId: string, projectId: string, limit: number) {
  return sql<{ agent_name: string; day: string }[]>`
    with taken as (
      select distinct agent_name, day from score_cells_dirty
      where org_id = ${orgId} and project_id = ${projectId} order by day, agent_name limit ${limit}
    ), deleted as (
      delete from score_cells_dirty d using taken
      where d.org_id = ${orgId} and d.project_id = ${projectId}
        and d.agent_name = taken.agent_name and d.day = taken.day
    )
    select agent_name, day::text as day from taken`
}

async function deleteCells(sql: Queryable, { orgId, projectId, agentName, day }: CellKey) {
  await sql`
    with gone as (
      delete from score_cells where org_id = ${orgId} and project_id = ${projectId}
        and agent_name = ${agentName} and day = ${day}::date
      returning id
    )
    delete from score_cell_clusters
    where org_id = ${orgId} and cell_id = any(array(select id from gone))`
}

/** Second arguments of the hash behind the advisory locks: two numbers that nothing else uses. */
const WRITERS = 7_304_521
const RECOMPUTING = 7_304_522
