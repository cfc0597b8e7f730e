import { readdir, readFile } from 'node:fs/promises'
import type { Queryable, Sql } from './db.ts'

/** The database was made by a newer version of this program. */
export class SchemaTooNew extends Error {}

/**
 * Brings the schema up to date: applies the numbered files of `sql/migrations` that the database has
 * not seen, each in its own transaction, in order. Safe to run from many processes at once and again.
 * `also` runs under the same lock after the files (the queue library's own schema).
 * @param sql at least two connections: one holds the lock, in a transaction, which behind a pooler is
 * the only thing that lasts
 * @throws SchemaTooNew when the database knows a migration that this program does not.
 */
export async function migrate(sql: Sql, also: () => Promise<void> = async () => {}) {
  const files = await listMigrations()
  await sql.begin(async (lock) => {
    await lock`set local statement_timeout = 0`
    await lock`set local idle_in_transaction_session_timeout = 0`
    await lock`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
    await sql`
      create table if not exists schema_migrations (
        number int primary key,
        name text not null,
        applied_at timestamptz not null default now()
      )`
    const applied = await findSchemaNumber(sql)
    refuseNewer(applied, files)
    for (const file of files.filter(({ number }) => number > applied)) await apply(sql, file)
    await also()
  })
}

async function apply(sql: Sql, { number, name }: Migration) {
  const text = await readFile(new URL(name, MIGRATIONS), 'utf8')
  await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    await tx.unsafe(text)
    await tx`insert into schema_migrations (number, name) values (${number}, ${name})`
  })
}

/**
 * Whether the schema is the one this program was written for: `behind` when a migration has yet to run.
 * @throws SchemaTooNew
 */
export async function checkSchema(sql: Sql): Promise<'current' | 'behind'> {
  const files = await listMigrations()
  const [{ exists } = { exists: false }] = await sql<{ exists: boolean }[]>`
    select to_regclass('schema_migrations') is not null as exists`
  const applied = exists ? await findSchemaNumber(sql) : 0
  refuseNewer(applied, files)
  return applied === (files.at(-1)?.number ?? 0) ? 'current' : 'behind'
}

async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  return names.sort().map((name) => ({ name, number: Number(name.slice(0, 4)) }))
}

async function findSchemaNumber(sql: Queryable) {
  const [row] = await sql<{ number: number | null }[]>`
    select max(number) as number from schema_migrations`
  return row?.number ?? 0
}

function refuseNewer(applied: number, files: readonly Migration[]) {
  const known = files.at(-1)?.number ?? 0
  if (applied <= known) return
  throw new SchemaTooNew(
    `The database has schema ${applied}, made by a newer version of this program, which knows schemas up to ${known}. Start the newer version.`,
  )
}

const MIGRATIONS = new URL('../migrations/', import.meta.url)
/** Any number nobody else uses; held while migrating. */
const MIGRATION_LOCK = 7_304_511

interface Migration {
  readonly number: number
  /** Of the file. */
  readonly name: string
}
