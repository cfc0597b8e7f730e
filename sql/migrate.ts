import { readdir, readFile } from 'node:fs/promises'
import type { Queryable, Sql } from './db.ts'

/** The database was made by a newer version of this program. */
export class SchemaTooNew extends Error {}

/**
 * Brings the schema up to date: applies the numbered files of `sql/migrations` that the database has
 * not seen, each in its own transaction, in order. Safe to run from many processes at once and again.
 * `also` runs under the same lock after the files (the queue library's own schema).
 * @throws SchemaTooNew when the database knows a migration that this program does not.
 */
export async function migrate(sql: Sql, also: () => Promise<void> = async () => {}) {
  const files = await listMigrations()
  const connection = await sql.reserve()
  try {
    await connection`select pg_advisory_lock(${MIGRATION_LOCK})`
    await connection`set statement_timeout = 0`
    await connection`
      create table if not exists schema_migrations (
        number int primary key,
        name text not null,
        applied_at timestamptz not null default now()
      )`
    const applied = await findSchemaNumber(connection)
    refuseNewer(applied, files)
    for (const file of files.filter(({ number }) => number > applied)) {
      const text = await readFile(new URL(file.name, MIGRATIONS), 'utf8')
      await connection
        .unsafe(
          `begin; ${text}; insert into schema_migrations (number, name)
         values (${file.number}, '${file.name}'); commit`,
        )
        .catch(async (error: unknown) => {
          await connection`rollback`
          throw error
        })
    }
    await also()
  } finally {
    await connection`reset statement_timeout`
    await connection`select pg_advisory_unlock(${MIGRATION_LOCK})`
    connection.release()
  }
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

async function listMigrations() {
  const names = (await readdir(MIGRATIONS)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  return names.sort().map((name) => ({ name, number: Number(name.slice(0, 4)) }))
}

async function findSchemaNumber(sql: Queryable) {
  const [row] = await sql<{ number: number | null }[]>`
    select max(number) as number from schema_migrations`
  return row?.number ?? 0
}

function refuseNewer(applied: number, files: readonly { number: number }[]) {
  const known = files.at(-1)?.number ?? 0
  if (applied <= known) return
  throw new SchemaTooNew(
    `The database has schema ${applied}, made by a newer version of this program, which knows schemas up to ${known}. Start the newer version.`,
  )
}

const MIGRATIONS = new URL('./migrations/', import.meta.url)
/** Any number nobody else uses; held while migrating. */
const MIGRATION_LOCK = 7_304_511
