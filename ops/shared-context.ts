import { setTimeout } from 'node:timers/promises'
import { isPooled, openDatabase } from '../sql/core/db.ts'
import type { DatabaseOptions, Sql } from '../sql/core/db.ts'
import { deafListener, openListener } from '../sql/core/listener.ts'
import { findContentForm } from '../sql/traces/content-form.ts'
import { openBoss, openProcessQueue } from './boss.ts'
import type { Config } from './config.ts'
import { SUPERVISION_CONNECTIONS } from './connections.ts'
import { openLog } from './log.ts'
import { openStorage } from './storage/open.ts'

/** What API and worker processes both hold. */
export async function openShared<Name extends string>(
  config: Config,
  databaseUrl: string,
  { name, pools: declared, main, signals, supervise = false }: SharedOptions<Name>,
) {
  const log = openLog(name, config.LOG_LEVEL)
  const pooled = await isPooled(databaseUrl)
  if (pooled) log.warn({}, POOLED)
  const entries = Object.entries<DatabaseOptions>(declared).map(([pool, options]) => {
    const applicationName = pool === main ? name : `${name} ${pool}`
    return [pool, openDatabase(databaseUrl, { ...options, pooled, applicationName })]
  })
  const pools = Object.fromEntries(entries) as Record<Name, Sql>
  const sql = pools[main]
  const listener = pooled ? deafListener : openListener(databaseUrl, pools[signals], log)
  // What supervision does may take longer than a request's statement, and must not wait for one.
  const supervisor = supervise
    ? openDatabase(databaseUrl, {
        max: SUPERVISION_CONNECTIONS,
        pooled,
        statementTimeoutMs: 0,
        applicationName: 'supervision',
      })
    : undefined
  const boss = await openBoss(supervisor ?? sql, { log, supervise, name })
  const queue = openProcessQueue(boss, pools[signals])
  const storage = await openStorage(config, sql)
  return {
    pools,
    boss,
    context: {
      sql,
      listener,
      queue,
      storage,
      log,
      now: () => new Date(),
      quotas: config.quotas,
      contentForm: await findContentForm(sql),
    },
    async close() {
      // It waits for its own statements. Those that go on end with their connections.
      await within(BOSS_STOP_MS, boss.stop({ graceful: false }))
      await listener.close()
      await supervisor?.end({ timeout: 0 })
      await Promise.all(Object.values<Sql>(pools).map((pool) => pool.end({ timeout: 5 })))
    },
  }
}

/** Waits for `work`, at most `ms`. */
export async function within(ms: number, work: Promise<unknown>) {
  await Promise.race([work, setTimeout(ms, undefined, { ref: false })])
}

interface SharedOptions<Name extends string> {
  readonly name: string
  readonly pools: Readonly<Record<Name, DatabaseOptions>>
  /** The pool of the context, which the queue library uses too. */
  readonly main: Name
  /** The pool that notifications are sent over. */
  readonly signals: Name
  readonly supervise?: boolean
}

/** Without a statement under way it takes milliseconds. */
const BOSS_STOP_MS = 2000
const POOLED =
  'DATABASE_URL leads to a connection pooler: jobs are found by polling, up to 2 seconds later, and time limits are those of the database role. Workers better connect to PostgreSQL itself; see ops/docs/operating.md'
