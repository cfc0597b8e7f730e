import { setTimeout } from 'node:timers/promises'
import { isStatementTimeout, onlyRow } from './db.ts'
import type { Sql } from './db.ts'
import { MigrationBlocked } from './lock-retries.ts'

/** An index that is built while its table is read and written. */
export interface Index {
  readonly name: string
  readonly table: string
  readonly isUnique: boolean
  /** What follows the table: `(columns) where ...`. */
  readonly definition: string
}

/**
 * Builds an index of a table that is not partitioned, while the table is read and written. A build that
 * was killed leaves an index that is maintained and never used; it is dropped and built again. One that a
 * lost process has begun goes on in the server, and is waited for.
 * @param sql with three free connections and no statement timeout
 * @param report called every few seconds with how far it is
 * @throws MigrationBlocked when the build was canceled
 */
export async function buildConcurrently(
  sql: Sql,
  index: Index,
  report: (sentence: string) => void,
): Promise<void> {
  const { name } = index
  for (;;) {
    switch (await findIndexState(sql, name)) {
      case 'valid':
        return
      case 'building':
        report(`Index ${name} is being built by a process that is gone; waiting for it.`)
        await setTimeout(PAUSE_MS)
        break
      case 'invalid':
        report(`Index ${name} was left unfinished; building it again.`)
        await sql`drop index concurrently if exists ${sql(name)}`
        break
      case 'missing':
        await build(sql, index, report)
    }
  }
}

/** @param name of an index that may not be there */
export async function findIndexState(sql: Sql, name: string): Promise<IndexState> {
  const rows = await sql<{ state: IndexState }[]>`
    select case
      when i.indexrelid is null then 'missing'
      when i.indisvalid then 'valid'
      when exists (select from pg_stat_progress_create_index p
        where p.datname = current_database() and p.index_relid = i.indexrelid) then 'building'
      else 'invalid' end as state
    from (select to_regclass(${name}) as id) named
    left join pg_index i on i.indexrelid = named.id`
  return onlyRow(rows).state
}

async function build(sql: Sql, index: Index, report: (sentence: string) => void) {
  const { name, table, isUnique, definition } = index
  report(`Building index ${name}; the service may run meanwhile.`)
  const built = new AbortController()
  const telling = tellProgress(sql, name, report, built.signal)
  try {
    await sql.unsafe(
      `create ${isUnique ? 'unique ' : ''}index concurrently if not exists ${name} on ${table} ${definition}`,
    )
  } catch (error) {
    if (!isStatementTimeout(error)) throw error
    throw new MigrationBlocked(
      `The build of index ${name} was canceled. Behind a pooler a statement_timeout of the database role does that: run migrate with the address of PostgreSQL itself.`,
    )
  } finally {
    built.abort()
    await telling
  }
}

async function tellProgress(
  sql: Sql,
  name: string,
  report: (sentence: string) => void,
  end: AbortSignal,
) {
  const pause = () => setTimeout(PROGRESS_MS, true, { signal: end }).catch(() => false)
  while (await pause()) {
    const [row] = await sql<Progress[]>`
      select phase, blocks_done as done, blocks_total as total from pg_stat_progress_create_index
      where datname = current_database() and index_relid = to_regclass(${name})`
    if (row) report(`Index ${name}: ${row.phase}, ${row.done} of ${row.total} blocks.`)
  }
}

type IndexState = 'missing' | 'valid' | 'building' | 'invalid'

const PAUSE_MS = 1000
const PROGRESS_MS = 10_000

interface Progress {
  /** In PostgreSQL's words, of which there are ten; blocks are counted anew in each. */
  readonly phase: string
  readonly done: number
  readonly total: number
}
