import { setTimeout } from 'node:timers/promises'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import {
  isAccessRefused,
  isDatabaseAway,
  isPooled,
  isTableMissing,
  isUnsupported,
  openDatabase,
} from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import { checkSchema, listWaiting, migrate } from '../sql/core/migrate.ts'
import type { SchemaState } from '../sql/core/migrate.ts'
import { ensureTurnIndex } from '../sql/jobs/pg-boss.ts'
import { adminCommand } from './admin-command.ts'
import { isQueueCurrent, openBoss, reconcileQueues, reconcileSchedules } from './boss.ts'
import { pause } from './shutdown.ts'
import { OperatorError } from './operator-error.ts'

/**
 * Waits until the database answers, as long as it takes, and brings its schema up to date when it is
 * behind. Returns early when `stop` is aborted.
 * @throws OperatorError, SchemaTooNew, MigrationBlocked
 */
export async function prepareDatabase(url: string, log: Log, stop: AbortSignal): Promise<void> {
  let isReported = false
  while (!stop.aborted) {
    try {
      const state = await findState(url)
      if (state === 'behind') await bringUpToDate(url, log)
      if (state === 'ahead') log.warn({}, AHEAD)
      return
    } catch (error) {
      const fault = databaseError(error, url)
      if (fault) throw fault
      if (!isDatabaseAway(error)) throw error
      if (!isReported)
        log.warn({ err: error }, `${doesNotAnswer(url)}; trying again until it does.`)
      isReported = true
      await pause(RETRY_MS, stop)
    }
  }
}

/**
 * Looks every minute whether the database is as this release declares it, and makes it so. A process of
 * the release before that starts while this one is rolled out declares its own queues and schedules.
 * @returns ends it, when the last look has ended or after `ms`: the next process goes on where it stopped
 */
export function keepCurrent(
  { sql, url, log }: { sql: Sql; url: string; log: Log },
  everyMs = 60_000,
): (ms: number) => Promise<void> {
  let looking: Promise<void> | undefined
  async function look() {
    try {
      if ((await stateOf(sql)) === 'behind') await migrateAll(url, log)
    } catch (err) {
      log.warn({ err }, 'queues and schedules could not be compared with their declarations')
    }
    looking = undefined
  }
  const ticking = setInterval(() => {
    looking ??= look()
  }, everyMs)
  return async (ms) => {
    clearInterval(ticking)
    await Promise.race([looking, setTimeout(ms, undefined, { ref: false })])
  }
}

/**
 * Brings the database up to date: our schema, the queue's, and the queues themselves.
 * @param finish contracting migrations too; see `migrate`
 * @returns the names of the contracting migrations that wait
 */
export async function migrateAll(
  databaseUrl: string,
  log: Log,
  { finish = false } = {},
): Promise<string[]> {
  const pooled = await isPooled(databaseUrl)
  const sql = openDatabase(databaseUrl, { max: 3, pooled, statementTimeoutMs: 0 })
  async function migrateQueue() {
    const boss = await openBoss(sql, { log })
    await ensureTurnIndex(sql)
    await reconcileQueues(boss)
    await reconcileSchedules(boss)
    await boss.stop({ graceful: false })
  }
  try {
    const report = (sentence: string) => log.info?.({}, sentence)
    await migrate(sql, { also: migrateQueue, report, finish })
    return await listWaiting(sql)
  } finally {
    await sql.end()
  }
}

/** What is checked before a process relies on its database; each throws a sentence when it is not so. */
export async function checkDatabase(sql: Sql): Promise<void> {
  const [row] = await sql<{ version: string; number: number }[]>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as number`
  if (row && row.number < OLDEST_SERVER) {
    throw new OperatorError(`The database is PostgreSQL ${row.version}; 15 or newer is needed.`)
  }
}

async function findState(url: string): Promise<SchemaState> {
  const sql = openDatabase(url, { max: 2, pooled: true })
  try {
    await checkDatabase(sql)
    return await stateOf(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** The state of schema and queue. On a schema that is ahead the queues are those of a newer release. */
async function stateOf(sql: Sql): Promise<SchemaState> {
  const state = await checkSchema(sql)
  return state === 'current' && !(await isQueueCurrent(sql)) ? 'behind' : state
}

async function bringUpToDate(url: string, log: Log) {
  await migrateAll(url, log)
  if ((await findState(url)) !== 'behind') return
  throw new OperatorError('The queue in the database was made by a newer version of this program.')
}

/** The sentence for what a database does to those who use it wrongly; undefined for other errors. */
export function databaseError(error: unknown, url: string): OperatorError | undefined {
  if (isAccessRefused(error)) {
    return new OperatorError(
      `The database at ${placeOf(url)} refuses us: ${messageOf(error)}. Check DATABASE_URL.`,
    )
  }
  if (isUnsupported(error)) {
    return new OperatorError(
      `The database at ${placeOf(url)} lacks what is needed: ${messageOf(error)}. Install the contrib modules of PostgreSQL.`,
    )
  }
  if (!isTableMissing(error)) return undefined
  return new OperatorError(
    `The database at ${placeOf(url)} is not set up: ${adminCommand('migrate')}`,
  )
}

export function doesNotAnswer(url: string) {
  return `The database at ${placeOf(url)} does not answer`
}

/** Host, port and database, without the password. */
function placeOf(url: string) {
  const { host, pathname } = new URL(url)
  return host + pathname
}

const AHEAD =
  'The schema is that of a newer release and serves this one too; the queues are left as they are.'
const OLDEST_SERVER = 150_000
const RETRY_MS = 1000

interface Log {
  info?(fields: object, message: string): void
  warn(fields: object, message: string): void
}
