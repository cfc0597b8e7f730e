import type { Queryable, Sql } from './db.ts'
import { readMigration } from './migration-files.ts'
import type { Migration, MigrationFile } from './migration-files.ts'

/** What is remembered of a migration. */
export interface Applied {
  readonly number: number
  readonly serves: number
}

/** None in a database that was never migrated. */
export async function findApplied(sql: Sql): Promise<readonly Applied[]> {
  const [exists] = await sql<{ newer: boolean; older: boolean }[]>`
    select to_regclass('applied_migrations') is not null as newer,
      to_regclass('schema_migrations') is not null as older`
  if (exists?.newer) return sql<Applied[]>`select number, serves from applied_migrations`
  if (exists?.older) return sql<Applied[]>`select number, number as serves from schema_migrations`
  return []
}

/** The migrations of these files that have yet to be applied, in order. */
export async function readMissing(
  applied: readonly Applied[],
  files: readonly MigrationFile[],
): Promise<Migration[]> {
  const numbers = new Set(applied.map(({ number }) => number))
  return Promise.all(files.filter(({ number }) => !numbers.has(number)).map(readMigration))
}

/**
 * To be called in the transaction that applies it. Why there are two tables is told in
 * 0017-applied-migrations.sql, which makes the second.
 */
export async function record(tx: Queryable, { number, name, serves }: Migration) {
  if (number > LAST_REFUSING) {
    await tx`
      insert into applied_migrations (number, name, serves) values (${number}, ${name}, ${serves})`
  }
  if (number <= LAST_REFUSING || serves > LAST_REFUSING) {
    await tx`insert into schema_migrations (number, name) values (${number}, ${name})`
  }
}

/** The newest schema whose releases refuse every newer one. */
const LAST_REFUSING = 16
