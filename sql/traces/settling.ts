import type { Queryable, Sql, Transaction } from '../core/db.ts'
import { awaitSharers, sharedLock } from '../core/project-lock.ts'

/**
 * Notes that a transaction stores spans of traces of a project. Holds a lock until it ends, for which
 * `awaitSpanWriters` waits; whoever requests the settling does so after this. Projects go in one order.
 */
export async function holdSettling(tx: Transaction, projectId: string) {
  await tx`select ${sharedLock(tx, projectId, 'spans')}`
}

/**
 * Waits for the transactions that have stored spans and not committed yet. They may have found the job
 * waiting in the queue and so have enqueued no other. Not to be called in a transaction.
 */
export async function awaitSpanWriters(sql: Sql, projectId: string) {
  await awaitSharers(sql, projectId, 'spans')
}

/**
 * Takes traces of a project as complete whose time has come; those that are still running are partial
 * from now on. Those to which another transaction adds spans are left out: it puts their time off.
 * @returns their ids, at most `limit`
 */
export async function settleDue(
  tx: Transaction,
  orgId: string,
  projectId: string,
  limit: number,
): Promise<string[]> {
  const settled = await tx<{ trace_id: string }[]>`
    with due as materialized (
      select period, trace_id from traces
      where org_id = ${orgId} and project_id = ${projectId} and settles_at <= now()
      order by settles_at limit ${limit} for no key update skip locked
    )
    update traces t
    set settles_at = null, status = case t.status when 'running' then 'partial' else t.status end
    from due
    where t.org_id = ${orgId} and t.project_id = ${projectId} and t.period = due.period
      and t.trace_id = due.trace_id
    returning t.trace_id`
  return settled.map(({ trace_id }) => trace_id)
}

/** Seconds until the next trace of a project settles, below 0 when one is due; undefined without one. */
export async function findSettlingSeconds(sql: Queryable, orgId: string, projectId: string) {
  const [row] = await sql<{ seconds: number | null }[]>`
    select extract(epoch from min(settles_at) - now())::float8 as seconds from traces
    where org_id = ${orgId} and project_id = ${projectId} and settles_at is not null`
  return row?.seconds ?? undefined
}

/** The projects that have traces whose time has come, at most `limit`. */
export async function listDueProjects(sql: Queryable, limit: number) {
  return sql<{ org_id: string; project_id: string }[]>`
    select distinct org_id, project_id from traces where settles_at <= now() limit ${limit}`
}
