import { setTimeout } from 'node:timers/promises'
import { onlyRow } from '../../core/db.ts'
import type { Sql } from '../../core/db.ts'

/**
 * The time that it is, to microseconds, once no transaction is open any more that was at that time: what one of
 * them makes says that it was made before, and would be named by rows that are read after it ended, but missing
 * among those that were read before. Who is open for longer than `mostMs` is not waited for: it hardly writes what
 * a backup has, and its rows would be named in vain.
 */
export async function readStartTime(sql: Sql, mostMs = 5000): Promise<string> {
  const { time } = onlyRow(await sql<{ time: string }[]>`select clock_timestamp()::text as time`)
  const end = performance.now() + mostMs
  while ((await hasOpen(sql, time)) && performance.now() < end) await setTimeout(LOOK_MS)
  return time
}

async function hasOpen(sql: Sql, since: string) {
  const rows = await sql<{ open: boolean }[]>`
    select exists (
      select from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and xact_start <= ${since}::text::timestamptz) as open`
  return onlyRow(rows).open
}

const LOOK_MS = 20
