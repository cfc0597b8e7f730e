import { isDatabaseAway } from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import { checkSchema } from '../sql/core/migrate.ts'
import { adminCommand } from './admin-command.ts'
import { isQueueCurrent } from './boss.ts'
import type { Config } from './config.ts'
import { checkDatabase, doesNotAnswer } from './migrate.ts'
import { openStorage } from './storage.ts'
import { OperatorError } from './operator-error.ts'

export interface Report {
  readonly ok: boolean
  readonly checks: readonly Check[]
}

export interface Check {
  readonly name: 'database' | 'schema' | 'queues' | 'storage'
  readonly ok: boolean
  /** What is wrong and what to do. */
  readonly detail?: string
}

/** Looks whether everything the service stands on is as it must be. Never throws. */
export async function examine(config: Config, sql: Sql, url: string): Promise<Report> {
  const checks: Check[] = []
  async function check(name: Check['name'], look: () => Promise<void>) {
    const detail = await look().then(
      () => undefined,
      (error: Error) => (isDatabaseAway(error) ? `${doesNotAnswer(url)}.` : error.message),
    )
    checks.push(detail === undefined ? { name, ok: true } : { name, ok: false, detail })
    return detail === undefined
  }
  if (await check('database', () => checkDatabase(sql))) {
    await check('schema', () => checkSchemaNumber(sql))
    await check('queues', () => checkQueues(sql))
  }
  await check('storage', () => checkStorage(config, sql))
  return { ok: checks.every(({ ok }) => ok), checks }
}

async function checkSchemaNumber(sql: Sql) {
  if ((await checkSchema(sql)) === 'current') return
  throw new OperatorError(`The schema is behind this program. Run: ${adminCommand('migrate')}`)
}

async function checkQueues(sql: Sql) {
  if (await isQueueCurrent(sql)) return
  throw new OperatorError(`Queues are missing or out of date. Run: ${adminCommand('migrate')}`)
}

async function checkStorage({ STORAGE_DIR }: Config, sql: Sql) {
  const fault = await openStorage(STORAGE_DIR, sql).findFault()
  if (fault) throw new OperatorError(`${fault.message}.`)
}
