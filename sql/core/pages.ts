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

/** The time and id of a row, by which a list of the newest first is sorted. */
export interface AgeKey {
  readonly at: Date
  readonly id: string
}

/**
 * The condition, beginning with `and`, that a row comes after another one in a list of the newest first.
 * @param key the time and id of the row, in brackets
 */
export function isOlder(sql: Queryable, key: Fragment, than: AgeKey | undefined) {
  return than ? sql`and ${key} < (${than.at}, ${than.id})` : sql``
}
