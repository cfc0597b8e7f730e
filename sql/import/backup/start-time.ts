import { setTimeout } from 'node:timers/promises'
import { onlyRow } from '../../core/db.ts'
import type { Sql } from '../../core/db.ts'

/**
 * The time at the call, to microseconds, once all transactions that were open then have ended. A row has the time at
 * which its transaction began: one that ends later would bring rows of before the start when their kind has been
 * read already, and later lines would name them. A transaction that is open for longer than `mostMs` is not waited
 * for, since long ones are reports and dumps, which write nothing.
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
