import { setTimeout } from 'node:timers/promises'
import type { PgBoss } from 'pg-boss'
import { openJobWaiter } from '../api/wait.ts'
import type { ApiContext, ApiPools } from '../api/context.ts'
import { parseNetworks } from '../jobs/rules/core/outbound-address.ts'
import { isPooled, openDatabase } from '../sql/core/db.ts'
import type { DatabaseOptions, Sql } from '../sql/core/db.ts'
import { deafListener, openListener } from '../sql/core/listener.ts'
import { ensureTurnIndex } from '../sql/jobs/pg-boss.ts'
import { listWaiting, migrate } from '../sql/core/migrate.ts'
import { findContentForm } from '../sql/traces/content-form.ts'
import type { WorkerContext } from '../workers/runtime/context.ts'
import { keepCountsFolded } from '../workers/maintenance/fold-counts.ts'
import { superviseJobs } from '../workers/maintenance/supervise-jobs.ts'
import { silentMeter } from '../workers/runtime/meter.ts'
import type { Meter } from '../workers/runtime/meter.ts'
import { openBoss, openProcessQueue, reconcileQueues, reconcileSchedules } from './boss.ts'
import type { Config } from './config.ts'
import { apiPools, SUPERVISION_CONNECTIONS, workerConnections } from './connections.ts'
import { openLog } from './log.ts'
import { openMailer } from './mail.ts'
import { openOutbound, seal } from './outbound.ts'
import { openReplica } from './replica.ts'
import { openScratch } from './scratch.ts'
import { openStorage } from './storage/open.ts'

/** What a process holds open, and how it lets go. */
export interface Opened<Context> {
  readonly context: Context
  close(): Promise<void>
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

/** The pool of a command, whose statements end after 30 s unless a pooler refuses the limit. */
export async function openCommandPool(databaseUrl: string): Promise<Sql> {
  // Where nothing answers, the command itself says so.
  const pooled = await isPooled(databaseUrl).catch(() => true)
  return openDatabase(databaseUrl, { max: 3, pooled })
}

/** @param databaseUrl of a database that has been migrated */
export async function openApiContext(
  config: Config,
  databaseUrl: string,
): Promise<Opened<ApiContext> & { boss: PgBoss; leave(): void; drain(): Promise<void> }> {
  const options = { name: 'api', pools: apiPools(config), main: 'write', signals: 'auth' } as const
  const opened = await openShared<keyof ApiPools>(config, databaseUrl, options)
  const { pools } = opened
  const waiter = await openJobWaiter(pools.read, opened.context.listener)
  const replica = openReplica(config, pools, opened.context.log)
  let stopping = false
  return {
    context: {
      ...opened.context,
      pools,
      replica,
      waiter,
      outboundNetworks: parseNetworks(config.OUTBOUND_ALLOW_CIDRS),
      payments: {
        processor: config.PAYMENT_PROCESSOR,
        secrets: config.PAYMENT_WEBHOOK_SECRET?.split(',') ?? [],
        livemode: config.PAYMENT_LIVEMODE,
      },
      hub: { url: config.HUB_URL, hasToken: config.HUB_TOKEN !== undefined },
      seal: (secret) => seal(config, secret),
      uploadBytes: config.uploadBytes,
      redirectSeconds: config.STORAGE_REDIRECT_SECONDS,
      idleSeconds: config.OTLP_IDLE_SECONDS,
      listCountMs: config.LIST_COUNT_MS,
      keyPrefix: config.KEY_PREFIX,
      isStopping: () => stopping,
    },
    boss: opened.boss,
    /** Takes the process out of readiness. */
    leave() {
      stopping = true
    },
    /** Lets requests that wait for a job answer at once. */
    drain: () => waiter.close(),
    async close() {
      await replica?.standby.close()
      await opened.close()
    },
  }
}

export interface WorkerOptions {
  /** Jobs that run at once in this process, each of which may hold a connection. */
  readonly slots: number
  /** Look after the queues: rescue lost claims, expire and delete. Add up changes of counts, too. */
  readonly supervise: boolean
  /** Shown in the list of live processes; default `workers`. */
  readonly name?: string
  readonly meter?: Meter
}

export async function openWorkerContext(
  config: Config,
  databaseUrl: string,
  { slots, supervise, name = 'workers', meter = silentMeter }: WorkerOptions,
) {
  const opened = await openShared(config, databaseUrl, {
    name,
    pools: { work: { max: workerConnections(slots) } },
    main: 'work',
    signals: 'work',
    supervise,
  })
  const scratch = await openScratch(config.SCRATCH_DIR, opened.context.log)
  const context: WorkerContext = {
    ...opened.context,
    mailer: config.SMTP_URL ? openMailer(config.SMTP_URL, config.MAIL_FROM) : undefined,
    tracesKeptDays: config.TRACES_KEPT_DAYS,
    makeScratchFolder: scratch.makeFolder,
    outbound: await openOutbound(config),
    meter,
  }
  const upkeep = supervise ? [superviseJobs(context, opened.boss), keepCountsFolded(context)] : []
  let ended: Promise<void> | undefined
  const endUpkeep = () =>
    (ended ??= within(config.DRAIN_SECONDS * 1000, Promise.all(upkeep.map((end) => end()))))
  return {
    context,
    pools: opened.pools,
    boss: opened.boss,
    /**
     * Ends what the process does beside its jobs: supervision and adding up. Waits for a pass that is under
     * way, at most DRAIN_SECONDS; other processes do what is left.
     */
    endUpkeep,
    async close() {
      await endUpkeep()
      await scratch.close()
      await opened.close()
    },
  }
}

async function openShared<Name extends string>(
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
async function within(ms: number, work: Promise<unknown>) {
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
interface Log {
  info?(fields: object, message: string): void
  warn(fields: object, message: string): void
}
