import type { Test } from 'tap'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'
import { until } from './until.ts'

/** The connections of one process that migrates. */
export function openMigrator(t: Test, url: string) {
  const sql = openDatabase(url, { max: 3, statementTimeoutMs: 0 })
  t.teardown(() => sql.end({ timeout: 1 }))
  return sql
}

/** A transaction that has run a statement and stays open; by default a write, for whose end a build waits. */
export async function holdTransaction(sql: Sql, statement = WRITE) {
  const writer = await sql.reserve()
  await writer`begin`
  await writer.unsafe(statement)
  return {
    async end() {
      await writer`rollback`
      writer.release()
    },
  }
}

/** The session that builds the index, once it waits for somebody: each build is in this phase for a moment. */
export async function findBuild(sql: Sql) {
  return until(async () => {
    const [row] = await sql<{ pid: number }[]>`
      select pid from pg_stat_progress_create_index
      where datname = current_database() and phase like 'waiting for writers%'
        and current_locker_pid <> 0`
    return row?.pid
  })
}

/** Waits until at least so many commits were the last statement of a session for a while. */
export async function seeCommits(sql: Sql, n: number) {
  const seen = new Set<string>()
  await until(async () => {
    const rows = await sql<{ commit: string }[]>`
      select pid || ' ' || query_start as commit from pg_stat_activity
      where datname = current_database() and state = 'idle' and query = 'commit'`
    for (const { commit } of rows) seen.add(commit)
    return seen.size >= n
  })
}

const WRITE = `
  insert into organizations (id, name) values ('00000000-0000-7000-8000-000000000002', 'p')`
