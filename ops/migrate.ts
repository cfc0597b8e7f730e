import { isDatabaseAway, openDatabase } from '../sql/db.ts'
import type { Sql } from '../sql/db.ts'
import { checkSchema } from '../sql/migrate.ts'
import { isQueueCurrent } from './boss.ts'
import { migrateAll } from './context.ts'
import { pause } from './shutdown.ts'
import { Trouble } from './trouble.ts'

/**
 * Waits until the database answers, as long as it takes, and brings its schema up to date when it is
 * behind. Returns early when `stop` is aborted.
 * @throws Trouble, SchemaTooNew
 */
export async function prepareDatabase(url: string, log: Log, stop: AbortSignal): Promise<void> {
  let told = false
  while (!stop.aborted) {
    try {
      if (await isBehind(url)) await bringUpToDate(url, log)
      return
    } catch (error) {
      const trouble = databaseTrouble(error, url)
      if (trouble) throw trouble
      if (!isDatabaseAway(error)) throw error
      if (!told) log.warn({ err: error }, `${doesNotAnswer(url)}; trying again until it does.`)
      told = true
      await pause(RETRY_MS, stop)
    }
  }
}

/** What is checked before a process relies on its database; each throws a sentence when it is not so. */
export async function checkDatabase(sql: Sql): Promise<void> {
  const [row] = await sql<{ version: string; number: number }[]>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as number`
  if (row && row.number < OLDEST_SERVER) {
    throw new Trouble(`The database is PostgreSQL ${row.version}; 15 or newer is needed.`)
  }
}

async function isBehind(url: string) {
  const sql = openDatabase(url, { max: 2, pooled: true })
  try {
    await checkDatabase(sql)
    return (await checkSchema(sql)) === 'behind' || !(await isQueueCurrent(sql))
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function bringUpToDate(url: string, log: Log) {
  await migrateAll(url, log)
  if (!(await isBehind(url))) return
  throw new Trouble('The queue in the database was made by a newer version of this program.')
}

/** The sentence for what a database does to those who use it wrongly; undefined for other errors. */
export function databaseTrouble(error: unknown, url: string): Trouble | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  if (REFUSED.test(code)) {
    return new Trouble(
      `The database at ${placeOf(url)} refuses us: ${message}. Check DATABASE_URL.`,
    )
  }
  if (code !== NO_TABLE) return undefined
  return new Trouble(`The database at ${placeOf(url)} is not set up: node ops/admin.ts migrate`)
}

export function doesNotAnswer(url: string) {
  return `The database at ${placeOf(url)} does not answer`
}

/** Host, port and database, without the password. */
function placeOf(url: string) {
  const { host, pathname } = new URL(url)
  return host + pathname
}

/** Wrong user or password, no such database, no right to connect or to make tables. */
const REFUSED = /^(28\w{3}|3D000|42501)$/
const NO_TABLE = '42P01'
const OLDEST_SERVER = 150_000
const RETRY_MS = 1000

interface Log {
  warn(fields: object, message: string): void
}
