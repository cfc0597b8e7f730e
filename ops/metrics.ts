import { setTimeout as pause } from 'node:timers/promises'
import type { PgBoss } from 'pg-boss'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Storage } from '../jobs/storage.ts'
import { countHeld } from './autoscale.ts'
import { countQueuedJobs } from './boss.ts'
import { gateOf } from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import type { Meter } from '../workers/runtime/meter.ts'
import type { RunningWorkers } from '../workers/runtime/start-workers.ts'

/** Metrics of one process in the Prometheus text format; names are the interface of the dashboards. */
export function openMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 10 })
  return registry
}

/** Counts what the workers of this process do. @param queues those they work off, shown from the start */
export function meterWorkers(registry: Registry, queues: readonly string[] = []): Meter {
  const registers = [registry]
  const ran = new Counter({
    name: 'adl_jobs_ran_total',
    help: 'Runs of jobs that ended, by what came of them',
    labelNames: ['queue', 'outcome'],
    registers,
  })
  const wait = new Histogram({
    name: 'adl_job_wait_seconds',
    help: 'Time a job waited between becoming due and being taken',
    labelNames: ['queue'],
    buckets: SECONDS,
    registers,
  })
  const run = new Histogram({
    name: 'adl_job_run_seconds',
    help: 'Time a run of a job took',
    labelNames: ['queue'],
    buckets: SECONDS,
    registers,
  })
  const lost = new Counter({
    name: 'adl_claims_lost_total',
    help: 'Runs that were stopped because their claim was gone',
    labelNames: ['queue'],
    registers,
  })
  const givenUp = new Counter({
    name: 'adl_traces_given_up_total',
    help: 'Traces that ended the thread that examines traces, alone too, and are not examined',
    registers,
  })
  const looked = new Counter({
    name: 'adl_looks_for_jobs_total',
    help: 'Looks for jobs, by what caused them: notified or polled',
    labelNames: ['queue', 'way'],
    registers,
  })
  // A rule tells that nothing was ever notified by a 0 that is there.
  for (const queue of queues)
    for (const way of ['notified', 'polled']) looked.inc({ queue, way }, 0)
  const attempted = new Histogram({
    name: 'adl_webhook_attempt_seconds',
    help: 'Attempts at webhook deliveries, by how they ended',
    labelNames: ['event', 'result'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  const pushed = new Histogram({
    name: 'adl_replay_push_seconds',
    help: 'Tasks of replays sent to their runners, by what came of it; failed ones count as attempts',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  })
  const swept = new Counter({
    name: 'adl_stored_bytes_swept_total',
    help: 'Bytes of stored files that nothing needed, by what they were: part, upload or dataset',
    labelNames: ['kind'],
    registers,
  })
  return {
    jobRan(queue, outcome, waitSeconds, runSeconds) {
      ran.inc({ queue, outcome })
      wait.observe({ queue }, waitSeconds)
      run.observe({ queue }, runSeconds)
    },
    claimLost: (queue) => lost.inc({ queue }),
    traceGivenUp: () => givenUp.inc(),
    lookedForJobs: (queue, way) => looked.inc({ queue, way }),
    webhookAttempted: (event, error, seconds) =>
      attempted.observe({ event, result: error ?? 'delivered' }, seconds),
    replayPushed: (outcome, seconds) => pushed.observe({ outcome }, seconds),
    storedBytesSwept: (kind, bytes) => swept.inc({ kind }, bytes),
  }
}

/** The slots of this process, read when scraped. */
export function showSlots(registry: Registry, pools: RunningWorkers) {
  const gauge = new Gauge({
    name: 'adl_slots',
    help: 'Slots of this process, by whether a job is in them; overrun ones are lost until it ends',
    labelNames: ['queue', 'state'],
    registers: [registry],
    collect() {
      for (const { queue, slots, running, overruns } of pools.queues()) {
        gauge.set({ queue, state: 'busy' }, running)
        gauge.set({ queue, state: 'overrun' }, overruns.length)
        gauge.set({ queue, state: 'idle' }, slots - running - overruns.length)
      }
    },
  })
}

/** Whether a process can use the storage that it needs, looked at when scraped. */
export function showStorage(registry: Registry, storage: Storage) {
  const gauge = new Gauge({
    name: 'adl_storage_up',
    help: 'Whether the storage can be read and written by this process: 1 or 0',
    registers: [registry],
    async collect() {
      // Before the first look the database has to tell which folder is the right one.
      const isUp = await storage.findFault().then(
        (fault) => fault === undefined,
        () => undefined,
      )
      if (isUp !== undefined) gauge.set(isUp ? 1 : 0)
    },
  })
  // Without a value it would say 0 until the database has told.
  gauge.remove()
}

/**
 * The depth of every queue, as supervision last counted it. Shown by the processes that supervise, so
 * that it is not scraped once for every worker. While the database is away the last figures are shown,
 * and a scrape does not wait for it longer than `FIGURES_MS`.
 */
export function showQueues(registry: Registry, boss: PgBoss, sql: Sql) {
  const registers = [registry]
  let reading: Promise<void> | undefined
  let readAt = performance.now()

  async function read() {
    const counted = await countQueuedJobs(boss)
    const heldBack = await countHeld(sql, counted)
    for (const { queue, oldest_ready_seconds, ...counts } of counted) {
      for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
      oldest.set({ queue }, oldest_ready_seconds)
      held.set({ queue }, heldBack.get(queue) ?? 0)
    }
    readAt = performance.now()
  }

  async function collect() {
    // Without an answer the last figures stand.
    reading ??= read()
      .catch(() => undefined)
      .finally(() => {
        reading = undefined
      })
    await Promise.race([reading, pause(FIGURES_MS, undefined, { ref: false })])
  }

  const jobs = new Gauge({
    name: 'adl_queue_jobs',
    help: 'Jobs in a queue, by state; dead letters are the ready jobs of the queue named .dlq',
    labelNames: ['queue', 'state'],
    registers,
    collect,
  })
  const oldest = new Gauge({
    name: 'adl_queue_oldest_ready_seconds',
    help: 'Age of the oldest job that is ready to be taken',
    labelNames: ['queue'],
    registers,
    collect,
  })
  const held = new Gauge({
    name: 'adl_queue_held',
    help: 'Jobs that are ready but for a pause or a limit',
    labelNames: ['queue'],
    registers,
    collect,
  })
  const age = new Gauge({
    name: 'adl_queue_figures_age_seconds',
    help: 'Time since the figures of the queues were read, or the process began to try',
    registers,
    async collect() {
      await collect()
      age.set((performance.now() - readAt) / 1000)
    },
  })
}

/**
 * How long ago the queues were last looked after. A scrape waits `FIGURES_MS` for the database; then it
 * goes by the look before, so that the age goes on growing while the database is away.
 */
export function showSupervision(registry: Registry, findAge: () => Promise<number | undefined>) {
  let supervisedAtMs: number | undefined
  let looking: Promise<void> | undefined
  async function look() {
    const age = await findAge().catch(() => undefined)
    if (age !== undefined) supervisedAtMs = Date.now() - age * 1000
    looking = undefined
  }
  const gauge = new Gauge({
    name: 'adl_supervision_age_seconds',
    help: 'Time since a maintenance process last looked after the queues, which is due every few seconds',
    registers: [registry],
    async collect() {
      looking ??= look()
      await Promise.race([looking, pause(FIGURES_MS, undefined, { ref: false })])
      if (supervisedAtMs !== undefined) gauge.set((Date.now() - supervisedAtMs) / 1000)
    },
  })
  // Without a value it would say 0 until the first look has ended.
  gauge.remove()
}

/**
 * The connection pools of this process, read when scraped, and how long was waited for a connection.
 * @param findMore pools that come and go, whose waits are not shown
 */
export function showPools(
  registry: Registry,
  pools: Readonly<Record<string, Sql>>,
  findMore: () => Readonly<Record<string, Sql>> = () => ({}),
) {
  const registers = [registry]
  const gauge = new Gauge({
    name: 'adl_database_connections',
    help: 'Connections of a pool by state, busy and free; waiting: those who wait for one',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      gauge.reset()
      for (const [pool, sql] of Object.entries({ ...pools, ...findMore() })) {
        for (const [state, count] of Object.entries(gateOf(sql).state())) {
          gauge.set({ pool, state }, count)
        }
      }
    },
  })
  const waited = new Histogram({
    name: 'adl_database_wait_seconds',
    help: 'Time that was waited for a connection, also where none became free in time',
    labelNames: ['pool'],
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 30],
    registers,
  })
  for (const [pool, sql] of Object.entries(pools)) {
    gateOf(sql).onWait((seconds) => waited.observe({ pool }, seconds))
  }
}

/** How long a scrape waits for the database. */
const FIGURES_MS = 1000
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 14_400]
