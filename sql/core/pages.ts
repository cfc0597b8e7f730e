import { isStatementTimeout, onlyRow, unprepared, withSettings } from './db.ts'
import type { Fragment, Queryable, Sql } from './db.ts'

/** Short lists are counted exactly up to this many rows. */
export const MAX_COUNTED = 10_000

/**
 * How many rows there are, counted no further than `limit`.
 * @param rows what follows `select 1 from`
 */
export async function countUpTo(sql: Queryable, limit: number, rows: Fragment) {
  return onlyRow(await counted(sql, limit, rows)).n
}

/**
 * The same, or null when it takes longer than `withinMs`, so that a list is not kept waiting for its count.
 * @param withinMs at least 1
 */
export async function countQuickly(sql: Sql, limit: number, rows: Fragment, withinMs: number) {
  const settings = { ...COLLECTING, statement_timeout: String(withinMs) }
  try {
    const found = await withSettings(sql, settings, (tx) => unprepared(counted(tx, limit, rows)))
    return onlyRow(found).n
  } catch (error) {
    if (isStatementTimeout(error)) return null
    throw error
  }
}

/**
 * Settings for queries that collect rows: tables that are divided alike are joined part by part, which
 * is many small joins instead of a large one, and one request has one process of the server.
 */
export const COLLECTING = { enable_partitionwise_join: 'on', max_parallel_workers_per_gather: '0' }

function counted(sql: Queryable, limit: number, rows: Fragment) {
  return sql<{ n: number }[]>`
    select count(*)::int as n from (select 1 from ${rows} limit ${limit}) as counted`
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
