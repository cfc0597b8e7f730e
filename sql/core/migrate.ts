import { setTimeout } from 'node:timers/promises'
import { findApplied, readMissing, record } from './applied-migrations.ts'
import type { Applied } from './applied-migrations.ts'
import { buildIndex } from './build-index.ts'
import type { Queryable, Sql } from './db.ts'
import { retryLocks } from './lock-retries.ts'
import { listMigrations } from './migration-files.ts'
import type { Migration, MigrationFile } from './migration-files.ts'

/** The database was made by a newer version of this program and does not serve this one. */
export class SchemaTooNew extends Error {}

export interface MigrateOptions {
  /** Runs after the files and under their lock: the queue library's own schema. */
  readonly also?: () => Promise<void>
  /** Told what takes long. */
  readonly report?: (sentence: string) => void
  /** Applies contracting migrations too: every process of the release before is gone. Default false. */
  readonly finish?: boolean
  /** Where the migrations are, ending in a slash. */
  readonly folder?: URL
}

/**
 * Brings the schema up to date: applies the numbered files of `sql/migrations` that the database has
 * not seen, each in its own transaction, in order. Safe to run from many processes at once and again.
 * Contracting ones wait to be asked for, unless the database holds no organization. A schema that is ahead
 * and serves this program is left as it is, and so is the queue.
 * @param sql at least three connections without a statement timeout. The locks are held by transactions,
 * which behind a pooler are the only thing that lasts
 * @throws SchemaTooNew when the schema does not serve this program
 * @throws MigrationBlocked
 */
export async function migrate(sql: Sql, options: MigrateOptions = {}): Promise<void> {
  const report = options.report ?? (() => undefined)
  const files = await listMigrations(options.folder)
  for (;;) {
    const next = await applyInOrder(sql, files, { ...options, report })
    if (!next) return
    await applyAlone(sql, next, report)
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
  const applied = await findApplied(sql)
  return stateOf(applied, files, await readMissing(applied, files))
}

/**
 * The names of the contracting migrations that wait until `finish` asks for them.
 * @param folder where the migrations are, ending in a slash
 */
export async function listWaiting(sql: Sql, folder?: URL): Promise<string[]> {
  const missing = await readMissing(await findApplied(sql), await listMigrations(folder))
  return missing.filter(({ kind }) => kind === 'contracting').map(({ name }) => name)
}

/** Applies what is missing up to the next one that runs beside traffic, and returns that. */
async function applyInOrder(
  sql: Sql,
  files: readonly MigrationFile[],
  { also, report, finish = false }: MigrateOptions & { report: Report },
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
    const missing = await readMissing(applied, files)
    if (stateOf(applied, files, missing) === 'ahead') return undefined
    for (const migration of missing) {
      const { kind } = migration
      if (kind === 'indexes' || kind === 'repeated') return migration
      if (kind === 'contracting' && !finish && (await isUsed(sql))) continue
      await apply(sql, migration, report)
    }
    await also?.()
    return undefined
  })
}

/**
 * Applies a migration beside running traffic, in one process at a time. The build of an index waits for every
 * transaction in which a statement ran when it began to wait. So those who wait here ask again and again, each
 * time in a transaction that ends at once; and the lock is another one than that of the migrations, for which
 * they do wait in one.
 */
async function applyAlone(sql: Sql, migration: Migration, report: Report) {
  async function applyHolding(lock: Queryable) {
    // Without parameters it goes by the simple protocol. The other one leaves a cursor and its snapshot
    // open until the next statement, and the build would wait for that.
    const [got] = await lock.unsafe<{ lock: boolean }[]>(
      `select pg_try_advisory_xact_lock(${ALONE_LOCK}) as lock`,
    )
    if (!got?.lock) return false
    const applied = await findApplied(sql)
    if (!applied.some(({ number }) => number === migration.number))
      await run(sql, migration, report)
    return true
  }
  while (!(await holdTransaction(sql, applyHolding))) await setTimeout(RETRY_MS)
}

async function run(sql: Sql, migration: Migration, report: Report) {
  if (migration.kind === 'repeated') return repeat(sql, migration, report)
  for (const index of migration.indexes) await buildIndex(sql, index, report)
  await sql.begin((tx) => record(tx, migration))
}

/** Runs the statement, in a transaction each time, until it touches no row. */
async function repeat(sql: Sql, migration: Migration, report: Report) {
  const { name, text } = migration
  async function runOnce(tx: Queryable) {
    const { count } = await tx.unsafe(text)
    if (count === 0) await record(tx, migration)
    return count
  }
  let rows = 0
  let toldAt = -Infinity
  for (;;) {
    const count = await retryLocks(sql, name, runOnce, report)
    if (count === 0) return
    rows += count
    if (performance.now() - toldAt < PROGRESS_MS) continue
    report(`${name} runs beside the service; rows so far: ${rows}.`)
    toldAt = performance.now()
  }
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

async function apply(sql: Sql, migration: Migration, report: Report) {
  async function applyOnce(tx: Queryable) {
    await tx.unsafe(migration.text)
    await record(tx, migration)
  }
  await retryLocks(sql, migration.name, applyOnce, report)
}

/** Whether somebody may be served from the database already. */
async function isUsed(sql: Sql) {
  const [exists] = await sql`select from pg_class where oid = to_regclass('organizations')`
  return exists !== undefined && (await sql`select from organizations limit 1`).length > 0
}

/** @throws SchemaTooNew */
function stateOf(
  applied: readonly Applied[],
  files: readonly MigrationFile[],
  missing: readonly Migration[],
): SchemaState {
  const known = files.at(-1)?.number ?? 0
  const schema = Math.max(0, ...applied.map(({ number }) => number))
  const serves = Math.max(0, ...applied.map(({ serves }) => serves))
  if (serves > known) {
    throw new SchemaTooNew(
      `The database has schema ${schema}, made by a newer version of this program, and serves versions that know schema ${serves}; this one knows schemas up to ${known}. Start the newer version.`,
    )
  }
  if (missing.some(({ kind }) => kind !== 'contracting')) return 'behind'
  return schema > known ? 'ahead' : 'current'
}

/** Any numbers nobody else uses. The first is that of all releases; the second is held beside traffic. */
const MIGRATION_LOCK = 7_304_511
const ALONE_LOCK = 7_304_514
const RETRY_MS = 1000
const PROGRESS_MS = 10_000

type Report = (sentence: string) => void
