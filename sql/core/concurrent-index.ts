import { setTimeout } from 'node:timers/promises'
import { isStatementTimeout, onlyRow } from './db.ts'
import type { Sql } from './db.ts'
import { MigrationBlocked } from './migration-files.ts'

/**
 * Builds an index while its table is read and written. A build that was killed leaves an index that is
 * maintained and never used; it is dropped and built again. One that a lost process has begun goes on in
 * the server, and is waited for.
 * @param sql with three free connections and no statement timeout
 * @param statement `create index concurrently if not exists`
 * @param report called every few seconds with how far it is
 * @throws MigrationBlocked when the build was canceled
 */
export async function buildIndex(
  sql: Sql,
  { index, statement }: { index: string; statement: string },
  report: (sentence: string) => void,
): Promise<void> {
  for (;;) {
    switch (await findState(sql, index)) {
      case 'valid':
        return
      case 'building':
        report(`Index ${index} is being built by a process that is gone; waiting for it.`)
        await setTimeout(PAUSE_MS)
        break
      case 'invalid':
        report(`Index ${index} was left unfinished; building it again.`)
        await sql`drop index concurrently if exists ${sql(index)}`
        break
      case 'missing':
        await build(sql, index, statement, report)
    }
  }
}

async function findState(sql: Sql, index: string) {
  const rows = await sql<{ state: 'missing' | 'valid' | 'building' | 'invalid' }[]>`
    select case
      when i.indexrelid is null then 'missing'
      when i.indisvalid then 'valid'
      when exists (select from pg_stat_progress_create_index p
        where p.datname = current_database() and p.index_relid = i.indexrelid) then 'building'
      else 'invalid' end as state
    from (select to_regclass(${index}) as id) named
    left join pg_index i on i.indexrelid = named.id`
  return onlyRow(rows).state
}

async function build(
  sql: Sql,
  index: string,
  statement: string,
  report: (sentence: string) => void,
) {
  report(`Building index ${index}; the service may run meanwhile.`)
  const built = new AbortController()
  const telling = tellProgress(sql, index, report, built.signal)
  try {
    await sql.unsafe(statement)
  } catch (error) {
    if (!isStatementTimeout(error)) throw error
    throw new MigrationBlocked(
      `The build of index ${index} was canceled. Behind a pooler a statement_timeout of the database role does that: run migrate with the address of PostgreSQL itself.`,
    )
  } finally {
    built.abort()
    await telling
  }
}

async function tellProgress(
  sql: Sql,
  index: string,
  report: (sentence: string) => void,
  end: AbortSignal,
) {
  const pause = () => setTimeout(PROGRESS_MS, true, { signal: end }).catch(() => false)
  while (await pause()) {
    const [row] = await sql<Progress[]>`
      select phase, blocks_done as done, blocks_total as total from pg_stat_progress_create_index
      where datname = current_database() and index_relid = to_regclass(${index})`
    if (row) report(`Index ${index}: ${row.phase}, ${row.done} of ${row.total} blocks.`)
  }
}

const PAUSE_MS = 1000
const PROGRESS_MS = 10_000

interface Progress {
  /** In PostgreSQL's words, of which there are ten; blocks are counted anew in each. */
  readonly phase: string
  readonly done: number
  readonly total: number
}
