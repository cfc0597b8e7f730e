import { findConnectionLimit } from '../sql/core/connection-limit.ts'
import { isDatabaseAway, isPooled } from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import { checkSchema, listWaiting } from '../sql/core/migrate.ts'
import { isDivided } from '../sql/traces/divided.ts'
import { listPeriods } from '../sql/traces/periods.ts'
import type { StoredPeriod } from '../sql/traces/periods.ts'
import { adminCommand } from './admin-command.ts'
import { StorageAway } from '../jobs/storage.ts'
import { POOLS } from '../workers/pool-names.ts'
import { isQueueCurrent, listProcesses } from './boss.ts'
import type { Config } from './config.ts'
import { connectionsOf, workersName } from './connections.ts'
import { checkDatabase, doesNotAnswer } from './migrate.ts'
import { examineReplica } from './replica.ts'
import { openStorage } from './storage/open.ts'
import { OperatorError } from './operator-error.ts'

export interface Report {
  readonly ok: boolean
  readonly checks: readonly Check[]
  /** The months whose traces are stored, the oldest first; absent where tables are not divided by them. */
  readonly periods?: readonly StoredPeriod[]
}

export interface Check {
  readonly name:
    'database' | 'schema' | 'periods' | 'queues' | 'connections' | 'replica' | 'storage'
  readonly ok: boolean
  /** What is wrong and what to do. */
  readonly detail?: string
  /** What is in order and waits for the operator. */
  readonly warning?: string
}

/**
 * Looks whether everything the service stands on is as it must be. Never throws.
 * @param folder where the migrations are, ending in a slash
 */
export async function examine(
  config: Config,
  sql: Sql,
  url: string,
  folder?: URL,
): Promise<Report> {
  const checks: Check[] = []
  let periods: readonly StoredPeriod[] | undefined
  async function check(name: Check['name'], look: () => Promise<string | void>) {
    const found: Check = await look().then(
      (warning) => ({ name, ok: true, ...(warning && { warning }) }),
      (error: Error) => ({
        name,
        ok: false,
        detail: isDatabaseAway(error) ? `${doesNotAnswer(url)}.` : error.message,
      }),
    )
    checks.push(found)
    return found.ok
  }
  if (await check('database', () => checkDatabase(sql))) {
    await check('schema', () => checkSchemaNumber(sql, folder))
    await check('periods', async () => {
      if (await isDivided(sql)) periods = await listPeriods(sql)
      return periods && warnOfPeriods(periods, new Date())
    })
    await check('queues', () => checkQueues(sql))
    await check('connections', () => checkConnections(config, sql, url))
    if (config.DATABASE_READ_URL) await check('replica', () => checkReplica(config, sql))
  }
  await check('storage', () => checkStorage(config, sql))
  return { ok: checks.every(({ ok }) => ok), checks, ...(periods && { periods }) }
}

async function checkSchemaNumber(sql: Sql, folder?: URL) {
  const state = await checkSchema(sql, folder)
  if (state === 'behind') {
    throw new OperatorError(`The schema is behind this program. Run: ${adminCommand('migrate')}`)
  }
  // What a newer release finds there is for it to finish.
  if (state === 'ahead') return undefined
  const waiting = await listWaiting(sql, folder)
  if (waiting.length === 0) return undefined
  return `Waiting until every process of the release before is gone: ${waiting.join(', ')}. Then run: ${adminCommand('migrate --finish')}`
}

/** Maintenance makes room for a month in the month before; without it traces go on into the last one. */
function warnOfPeriods(periods: readonly StoredPeriod[], now: Date) {
  const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
  const next = nextMonth.toISOString().slice(0, 'YYYY-MM-DD'.length)
  const last = periods.at(-1)?.period ?? ''
  if (last >= next) return undefined
  return `There is no room of its own yet for the traces of ${next.slice(0, 'YYYY-MM'.length)}; they would be stored with those of ${last.slice(0, 'YYYY-MM'.length)}. Pool maintenance makes it each hour: see that a process runs it.`
}

async function checkQueues(sql: Sql) {
  // Those of a schema that is ahead are as a newer release declares them.
  if ((await checkSchema(sql)) === 'ahead' || (await isQueueCurrent(sql))) return
  throw new OperatorError(`Queues are missing or out of date. Run: ${adminCommand('migrate')}`)
}

/** Whether the server admits the connections of the processes that are alive, or else of one of each kind. */
async function checkConnections(config: Config, sql: Sql, url: string) {
  // A pooler has limits of its own, and needs few of the server's.
  if (await isPooled(url)) return
  const alive = await listProcesses(sql)
  const names = alive.length > 0 ? alive : ['api', ...POOLS.map((pool) => workersName([pool]))]
  const counts = names.map((name) => ({ name, count: connectionsOf(config, name) }))
  const needed = counts.reduce((sum, { count }) => sum + count, OWN_CONNECTIONS)
  const limit = await findConnectionLimit(sql)
  if (needed <= limit) return
  const listed = counts.map(({ name, count }) => `${name}: ${count}`).join('; ')
  throw new OperatorError(
    `The processes may hold ${needed} connections at once (${listed}; commands: ${OWN_CONNECTIONS}), and the server admits ${limit}. Raise max_connections of the server, or lower DATABASE_*_CONNECTIONS or POOL_CONCURRENCY_*, or run fewer processes; ops/docs/operating.md has the arithmetic.`,
  )
}

/** The primary serves without its replica, so nothing that is wrong with it is a failure. */
async function checkReplica(config: Config, sql: Sql) {
  const apis = (await listProcesses(sql)).filter((name) => name === 'api')
  return examineReplica(config, sql, Math.max(1, apis.length)).catch(
    (error: Error) => `The read replica does not answer (${error.message}): it is not read.`,
  )
}

async function checkStorage(config: Config, sql: Sql) {
  const storage = await openStorage(config, sql)
  await storage.examine().catch((error: unknown) => {
    throw error instanceof StorageAway ? new OperatorError(`${error.message}.`) : error
  })
}

/** Of admin commands and of a migration. */
const OWN_CONNECTIONS = 3
