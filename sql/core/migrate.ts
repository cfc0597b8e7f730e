import { setTimeout } from 'node:timers/promises'
import { buildIndex } from './concurrent-index.ts'
import { isLockTimeout } from './db.ts'
import type { Queryable, Sql } from './db.ts'
import { listMigrations, MigrationBlocked, readMigration } from './migration-files.ts'
import type { Migration, MigrationFile } from './migration-files.ts'

/** The database was made by a newer version of this program and does not serve this one. */
export class SchemaTooNew extends Error {}

export interface MigrateOptions {
  /** Runs after the files and under their lock: the queue library's own schema. */
  readonly also?: () => Promise<void>
  /** Told what takes long. */
  readonly report?: (sentence: string) => void
  /** Where the migrations are, ending in a slash. */
  readonly folder?: URL
}

/**
 * Brings the schema up to date: applies the numbered files of `sql/migrations` that the database has
 * not seen, each in its own transaction, in order. Safe to run from many processes at once and again.
 * A schema that is ahead and serves this program is left as it is, and so is the queue.
 * @param sql at least three connections without a statement timeout. The locks are held by transactions,
 * which behind a pooler are the only thing that lasts
 * @throws SchemaTooNew when the schema does not serve this program
 * @throws MigrationBlocked
 */
export async function migrate(sql: Sql, options: MigrateOptions = {}): Promise<void> {
  const report = options.report ?? (() => undefined)
  const files = await listMigrations(options.folder)
  for (;;) {
    const next = await applyToIndex(sql, files, { ...options, report })
    if (!next) return
    await buildAlone(sql, next, report)
  }
}

/** Whether the schema is the one this program was written for. */
export type SchemaState =
  | 'current'
  /** A migration has yet to run. */
  | 'behind'
  /** A newer release has migrated, and its schema serves this program too. */
  | 'ahead'

/**
 * @param folder where the migrations are, ending in a slash
 * @throws SchemaTooNew
 */
export async function checkSchema(sql: Sql, folder?: URL): Promise<SchemaState> {
  const files = await listMigrations(folder)
  return stateOf(await findApplied(sql), files)
}

/** Applies what is missing up to the next index that is built concurrently, and returns that. */
async function applyToIndex(
  sql: Sql,
  files: readonly MigrationFile[],
  { also, report }: MigrateOptions & { report: Report },
): Promise<Migration | undefined> {
  return holdTransaction(sql, async (lock) => {
    await lock`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
    await sql`
      create table if not exists schema_migrations (
        number int primary key,
        name text not null,
        applied_at timestamptz not null default now()
      )`
    const applied = await findApplied(sql)
    if (stateOf(applied, files) === 'ahead') return undefined
    for (const file of missing(applied, files)) {
      const migration = await readMigration(file)
      if (migration.index) return migration
      await apply(sql, migration, report)
    }
    await also?.()
    return undefined
  })
}

/**
 * Builds an index that no other process builds meanwhile. A build waits for every statement that began
 * before it. So those who wait here ask again and again instead of in one long statement; and the lock
 * is another one than that of the migrations, for which they do wait in one.
 */
async function buildAlone(sql: Sql, migration: Migration, report: Report) {
  await holdTransaction(sql, async (lock) => {
    for (;;) {
      // Without parameters it goes by the simple protocol. The other one leaves a cursor and its snapshot
      // open until the next statement, and the build would wait for that.
      const [got] = await lock.unsafe<{ lock: boolean }[]>(
        `select pg_try_advisory_xact_lock(${INDEX_LOCK}) as lock`,
      )
      if (got?.lock) break
      await setTimeout(RETRY_MS)
    }
    const applied = await findApplied(sql)
    if (applied.some(({ number }) => number === migration.number)) return
    const index = migration.index as string
    await buildIndex(sql, { index, statement: migration.text }, report)
    await sql.begin((tx) => record(tx, migration))
  })
}

/** An open transaction, which may be idle for long; it sees what others commit. */
async function holdTransaction<T>(sql: Sql, work: (lock: Queryable) => Promise<T>) {
  const result = await sql.begin('isolation level read committed', async (lock) => {
    await lock`set local statement_timeout = 0`
    await lock`set local idle_in_transaction_session_timeout = 0`
    return { value: await work(lock) }
  })
  return result.value
}

/**
 * Applies a migration in a transaction. What waits for a lock on a table makes everybody wait who comes
 * after it, so it waits shortly and tries again.
 */
async function apply(sql: Sql, migration: Migration, report: Report) {
  for (let tries = 1; ; tries++) {
    try {
      return await applyOnce(sql, migration)
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    const waits = `${migration.name} waits for a lock that another transaction holds`
    if (tries === MAX_TRIES) throw new MigrationBlocked(`${waits}; it was tried ${tries} times.`)
    if (tries === 1) report(`${waits}; trying again.`)
    await setTimeout(RETRY_MS)
  }
}

async function applyOnce(sql: Sql, migration: Migration) {
  await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    await tx`set local lock_timeout = '2s'`
    await tx.unsafe(migration.text)
    await record(tx, migration)
  })
}

/** Why there are two tables is told in 0017-applied-migrations.sql, which makes the second. */
async function record(tx: Queryable, { number, name, serves }: Migration) {
  if (number > LAST_REFUSING) {
    await tx`
      insert into applied_migrations (number, name, serves) values (${number}, ${name}, ${serves})`
  }
  if (number <= LAST_REFUSING || serves > LAST_REFUSING) {
    await tx`insert into schema_migrations (number, name) values (${number}, ${name})`
  }
}

async function findApplied(sql: Sql): Promise<readonly Applied[]> {
  const [exists] = await sql<{ newer: boolean; older: boolean }[]>`
    select to_regclass('applied_migrations') is not null as newer,
      to_regclass('schema_migrations') is not null as older`
  if (exists?.newer) return sql<Applied[]>`select number, serves from applied_migrations`
  if (exists?.older) return sql<Applied[]>`select number, number as serves from schema_migrations`
  return []
}

/** @throws SchemaTooNew */
function stateOf(applied: readonly Applied[], files: readonly MigrationFile[]): SchemaState {
  const known = files.at(-1)?.number ?? 0
  const schema = Math.max(0, ...applied.map(({ number }) => number))
  const serves = Math.max(0, ...applied.map(({ serves }) => serves))
  if (serves > known) {
    throw new SchemaTooNew(
      `The database has schema ${schema}, made by a newer version of this program, and serves versions that know schema ${serves}; this one knows schemas up to ${known}. Start the newer version.`,
    )
  }
  if (missing(applied, files).length > 0) return 'behind'
  return schema > known ? 'ahead' : 'current'
}

function missing(applied: readonly Applied[], files: readonly MigrationFile[]) {
  const numbers = new Set(applied.map(({ number }) => number))
  return files.filter(({ number }) => !numbers.has(number))
}

/** Any numbers nobody else uses. The first is that of all releases; the second is held for an index. */
const MIGRATION_LOCK = 7_304_511
const INDEX_LOCK = 7_304_514
/** The newest schema whose releases refuse every newer one. */
const LAST_REFUSING = 16
const RETRY_MS = 1000
/** Three minutes, with two seconds of waiting for each. */
const MAX_TRIES = 60

type Report = (sentence: string) => void

interface Applied {
  readonly number: number
  readonly serves: number
}
