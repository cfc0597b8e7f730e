import { PgBoss } from 'pg-boss'
import library from 'pg-boss/package.json' with { type: 'json' }
import { jobs as allJobs } from '../jobs/index.ts'
import { deadLetterName, queueOptions } from '../jobs/job.ts'
import type { Job } from '../jobs/job.ts'
import { bossDatabase, openQueue } from '../jobs/queue.ts'
import type { Envelope } from '../jobs/queue.ts'
import type { Queryable, Sql } from '../sql/db.ts'
import { findQueueSchema, findTurn } from '../sql/queue-rows.ts'
import { schedules } from '../workers/schedule.ts'
import type { Schedule } from '../workers/schedule.ts'

export interface BossOptions {
  /** Rescue lost claims, expire, delete, fire schedules; for the maintenance pool. Default false. */
  readonly supervise?: boolean
  /** Shown in the list of live processes; without one the process is not listed. */
  readonly name?: string
  readonly log: { warn(fields: object, message: string): void }
}

/**
 * pg-boss over our own connection pool; we fetch and settle ourselves, so it starts no workers. It
 * upgrades a schema that is behind its own and puts up with a newer one, as there is between the first
 * new process of a release and the last old one.
 */
export async function openBoss(sql: Sql, options: BossOptions) {
  const boss = new PgBoss({
    db: { ...bossDatabase(sql), executeSql: executor(sql) },
    schema: 'pgboss',
    registerInstance: options.name !== undefined,
    ...(options.name && { instanceName: options.name }),
    supervise: options.supervise ?? false,
    schedule: options.supervise ?? false,
    migrate: true,
    // What an upgrade leaves to be built in the background is for the processes that supervise.
    bamIntervalSeconds: options.supervise ? 60 : NEVER_SECONDS,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
  })
  boss.on('error', (err) => options.log.warn({ err }, 'queue error'))
  boss.on('warning', ({ message, data }) => options.log.warn({ data }, message))
  await boss.start()
  return boss
}

/**
 * Whether queues and schedules are there as declared, in a schema of the queue library's version. In a
 * newer one they are the business of the newer processes.
 */
export async function isQueueCurrent(sql: Sql): Promise<boolean> {
  const version = (await findQueueSchema(sql)) ?? 0
  if (version !== library.pgboss.schema) return version > library.pgboss.schema
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  const queues = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  const scheduled = await boss.getSchedules()
  await boss.stop({ graceful: false })
  return allJobs.every((job) => isAsDeclared(job, queues)) && areAsDeclared(scheduled)
}

function isAsDeclared(job: Job, queues: ReadonlyMap<string, object>) {
  const found = queues.get(job.name) as Record<string, unknown> | undefined
  return (
    found !== undefined &&
    Object.entries(queueOptions(job)).every(([name, value]) => found[name] === value)
  )
}

function areAsDeclared(scheduled: readonly { name: string; cron: string }[]) {
  return (
    scheduled.length === schedules.length &&
    schedules.every(({ job, cron }) =>
      scheduled.some((found) => found.name === job.name && found.cron === cron),
    )
  )
}

/** Creates the queues that are missing and brings the options of the others up to date. */
export async function reconcileQueues(boss: PgBoss, jobs: readonly Job[] = allJobs) {
  const existing = new Set((await boss.getQueues()).map(({ name }) => name))
  for (const job of jobs) {
    const dead = deadLetterName(job.name)
    if (!existing.has(dead))
      await boss.createQueue(dead, { retentionSeconds: DEAD_RETENTION_SECONDS })
    const { name, policy, ...options } = queueOptions(job)
    if (existing.has(name)) await boss.updateQueue(name, options)
    else await boss.createQueue(name, { ...options, ...(policy && { policy }) })
  }
}

/** Declares what runs by the clock and forgets what no longer does. */
export async function reconcileSchedules(boss: PgBoss, declared: readonly Schedule[] = schedules) {
  // Made by whoever first supervises, unless it is there: two at once would wait for each other.
  await boss.createQueue(SCHEDULER_QUEUE)
  for (const { name, key } of await boss.getSchedules()) {
    if (!declared.some(({ job }) => job.name === name)) await boss.unschedule(name, key)
  }
  const system: Envelope = { org_id: null, payload: {} }
  for (const { job, cron } of declared) {
    await boss.schedule(job.name, cron, system, { tz: 'UTC', missed: 'once' })
  }
}

export function openProcessQueue(boss: PgBoss, sql: Sql) {
  return openQueue(
    boss,
    (channel, payload) => sql`select pg_notify(${channel}, ${payload})`,
    (tx, queue, orgId) => findTurn(tx as Queryable & typeof tx, queue, orgId),
  )
}

/** postgres.js refuses BEGIN on a pooled connection, so a text that begins a transaction gets its own. */
function executor(sql: Sql) {
  return async (text: string, values?: unknown[]) => {
    if (!/^\s*begin\b/i.test(text)) {
      return bossDatabase(sql).executeSql(text, values)
    }
    const connection = await sql.reserve()
    try {
      return await bossDatabase(connection).executeSql(text, values)
    } catch (error) {
      await connection`rollback`.catch(() => undefined)
      throw error
    } finally {
      connection.release()
    }
  }
}

/** How late it is noticed that a worker was lost, beyond its heartbeat. */
const SUPERVISE_SECONDS = 3
const NEVER_SECONDS = 86_400
/** The library's own, through which its schedules go. */
const SCHEDULER_QUEUE = '__pgboss__send-it'
const DEAD_RETENTION_SECONDS = 90 * 86_400
