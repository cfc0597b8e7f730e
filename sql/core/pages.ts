import { onlyRow } from './db.ts'
import type { Fragment, Queryable } from './db.ts'

/**
 * How many rows there are, counted no further than `limit`.
 * @param rows what follows `select 1 from`
 */
export async function countUpTo(sql: Queryable, limit: number, rows: Fragment) {
  const counted = await sql<{ n: number }[]>`
    select count(*)::int as n from (select 1 from ${rows} limit ${limit}) as counted`
  return onlyRow(counted).n
}

/** The condition, beginning with `and`, that a row comes after another one in a list of the newest first. */
export function createdBefore(
  sql: Queryable,
  row: { readonly created_at: Date; readonly id: string } | undefined,
) {
  return row ? sql`and (created_at, id) < (${row.created_at}, ${row.id})` : sql``
}
