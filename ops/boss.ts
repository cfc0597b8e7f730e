import { PgBoss } from 'pg-boss'
import library from 'pg-boss/package.json' with { type: 'json' }
import { jobs as allJobs } from '../jobs/index.ts'
import { deadLetterName, queueOptions } from '../jobs/job.ts'
import type { Job } from '../jobs/job.ts'
import { bossDatabase, SCHEDULER_QUEUE } from '../jobs/pg-boss.ts'
import { openQueue } from '../jobs/queue.ts'
import type { Envelope } from '../jobs/queue.ts'
import { sendText } from '../sql/core/db.ts'
import type { Queryable, Sql } from '../sql/core/db.ts'
import { findQueueSchemaVersion, insertQueueRow, QUEUE_SCHEMA } from '../sql/jobs/pg-boss.ts'
import { schedules } from '../workers/runtime/schedule.ts'
import type { Schedule } from '../workers/runtime/schedule.ts'

export interface BossOptions {
  /** Fire schedules and be ready to supervise; for the maintenance pool. Default false. */
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
    db: {
      ...bossDatabase(sql),
      executeSql: (text, values) =>
        sendText(sql, text, (connection) => bossDatabase(connection).executeSql(text, values)),
    },
    schema: QUEUE_SCHEMA,
    registerInstance: options.name !== undefined,
    ...(options.name && { instanceName: options.name }),
    // `superviseJobs` calls for it, when it has released what must not count as an attempt.
    supervise: false,
    schedule: options.supervise ?? false,
    migrate: true,
    // Its spans would begin a trace at every look for jobs; ours are of requests and runs.
    openTelemetry: { enabled: false },
    // What an upgrade leaves to be built in the background is for the processes that supervise.
    bamIntervalSeconds: options.supervise ? 60 : NEVER_SECONDS,
    superviseIntervalSeconds: MONITOR_SECONDS,
    monitorIntervalSeconds: MONITOR_SECONDS,
  })
  boss.on('error', (err) => options.log.warn({ err }, 'queue error'))
  boss.on('warning', ({ message, data }) => options.log.warn({ data }, message))
  await boss.start()
  return boss
}

/** pg-boss for one piece of the operator's work, which supervises nothing and is not listed. */
export async function withBoss<T>(sql: Sql, work: (boss: PgBoss) => Promise<T>): Promise<T> {
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  try {
    return await work(boss)
  } finally {
    await boss.stop({ graceful: false })
  }
}

/**
 * Whether queues and schedules are there as declared, in a schema of the queue library's version. In a
 * newer one they are the business of the newer processes.
 */
export async function isQueueCurrent(sql: Sql): Promise<boolean> {
  const version = (await findQueueSchemaVersion(sql)) ?? 0
  const { schema: ours } = library.pgboss
  if (version !== ours) return version > ours
  const { queues, scheduled } = await withBoss(sql, async (boss) => ({
    queues: new Map((await boss.getQueues()).map((queue) => [queue.name, queue])),
    scheduled: await boss.getSchedules(),
  }))
  return allJobs.every((job) => isAsDeclared(job, queues)) && areAsDeclared(scheduled)
}

/** The names of the processes that are alive. */
export async function listProcesses(sql: Sql): Promise<string[]> {
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  try {
    return (await boss.getInstances()).flatMap(({ live, name }) => (live && name ? [name] : []))
  } finally {
    await boss.stop({ graceful: false })
  }
}

function isAsDeclared(job: Job, queues: ReadonlyMap<string, object>) {
  const found = new Map(Object.entries(queues.get(job.name) ?? {}))
  return Object.entries(queueOptions(job)).every(([name, value]) => found.get(name) === value)
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

/** How many jobs are in each queue, as supervision last counted them. Dead letters are `ready`. */
export async function countQueuedJobs(boss: PgBoss, names?: string[]): Promise<QueuedJobs[]> {
  return (await boss.getQueues(names)).map((queue) => ({
    queue: queue.name,
    ready: queue.readyCount,
    deferred: queue.deferredCount,
    active: queue.activeCount,
    failed: queue.failedCount,
    oldest_ready_seconds: queue.readyOldestSeconds ?? 0,
  }))
}

export function openProcessQueue(boss: PgBoss, sql: Sql) {
  return openQueue(
    boss,
    (channel, payload) => sql`select pg_notify(${channel}, ${payload})`,
    (tx, row) => insertQueueRow(tx as Queryable & typeof tx, row),
  )
}

/** Less than the time between two passes of `superviseJobs`, so that none is refused. */
const MONITOR_SECONDS = 2
const NEVER_SECONDS = 86_400
const DEAD_RETENTION_SECONDS = 90 * 86_400

interface QueuedJobs {
  readonly queue: string
  readonly ready: number
  /** They are not due yet. */
  readonly deferred: number
  readonly active: number
  readonly failed: number
  /** 0 when none is ready. */
  readonly oldest_ready_seconds: number
}
