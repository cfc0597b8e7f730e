import type { Sql } from '../../sql/core/db.ts'

/**
 * The locks that sessions of this database wait for, with the table where it is one that is waited for.
 *
 * The databases of other tests are in the same cluster, and their tables have the same numbers.
 *
 * @param type Such as `advisory`, `transactionid` or `relation`; of every type without it.
 */
export async function listLockWaits(sql: Sql, type: string | null = null) {
  return sql<{ table: string | null }[]>`
    select l.relation::regclass::text as table
    from pg_locks l join pg_stat_activity a using (pid)
    where not l.granted and a.datname = current_database()
      and l.locktype = coalesce(${type}, l.locktype)`
}

/** Whether a session of this database waits for a lock of a table. */
export async function isWaitedFor(sql: Sql, table: string) {
  return (await listLockWaits(sql, 'relation')).some((wait) => wait.table === table)
}
