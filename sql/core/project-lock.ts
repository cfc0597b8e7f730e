import type { Queryable, Sql } from './db.ts'

/**
 * Who writes something of a project shares a lock until its transaction ends; who has to see all of that
 * waits for the lock first. Each kind of writing has a number, which nothing else uses: the second argument
 * of the hash behind the advisory lock.
 */
const PROJECT_LOCKS = {
  cell_marks: 7_304_521,
  spans: 7_304_523,
  deletions: 7_304_541,
} as const
export type ProjectLock = keyof typeof PROJECT_LOCKS

/** The call that shares the lock until the transaction ends, to be selected. */
export function sharedLock(sql: Queryable, projectId: string, lock: ProjectLock) {
  return sql`pg_advisory_xact_lock_shared(${keyOf(sql, projectId, lock)})`
}

/**
 * Waits for the transactions that share the lock. Others that want to share it wait for those meanwhile, and
 * nothing else. Not to be called in a transaction: the lock must not outlast the statement.
 */
export async function awaitSharers(sql: Sql, projectId: string, lock: ProjectLock) {
  await sql`select pg_advisory_xact_lock(${keyOf(sql, projectId, lock)})`
}

function keyOf(sql: Queryable, projectId: string, lock: ProjectLock) {
  return sql`hashtextextended(${projectId}::text, ${PROJECT_LOCKS[lock]})`
}
