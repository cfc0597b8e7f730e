import { onlyRow } from './db.ts'
import type { Queryable } from './db.ts'

/**
 * Connections that the server lets our role and database have: the least of their own limits and of
 * `max_connections` less those kept for others.
 */
export async function findConnectionLimit(sql: Queryable): Promise<number> {
  const { limit } = onlyRow(
    await sql<{ limit: number }[]>`
    select least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
      nullif(datconnlimit, -1), nullif(rolconnlimit, -1)) as limit
    from pg_database, pg_roles where datname = current_database() and rolname = current_user`,
  )
  return limit
}
