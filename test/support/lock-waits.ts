import type { Sql } from '../../sql/core/db.ts'

/**
 * How many locks sessions of this database wait for.
 *
 * The databases of other tests are in the same cluster, and their tables have the same numbers.
 *
 * @param of only those of a type, such as `advisory` or `transactionid`; only those of a table
 */
export async function countLockWaits(
  sql: Sql,
  { type = null, table = null }: { type?: string | null; table?: string | null } = {},
): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n
    from pg_locks l join pg_stat_activity a using (pid)
    where not l.granted and a.datname = current_database()
      and (${type}::text is null or l.locktype = ${type})
      and (${table}::text is null or l.relation = to_regclass(${table}))`
  return row.n
}
