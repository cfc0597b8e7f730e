import type { Server } from '@hapi/hapi'
import type { PgBoss } from 'pg-boss'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Storage } from '../jobs/storage.ts'
import { countQueuedJobs } from './boss.ts'
import type { Meter } from '../workers/runtime/meter.ts'
import type { RunningWorkers } from '../workers/runtime/start-workers.ts'

/** Metrics of one process in the Prometheus text format; names are the interface of the dashboards. */
export function openMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 10 })
  return registry
}

/** Counts what the workers of this process do. */
export function meterWorkers(registry: Registry): Meter {
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
  const looked = new Counter({
    name: 'adl_looks_for_jobs_total',
    help: 'Looks for jobs, by what caused them: notified or polled',
    labelNames: ['queue', 'way'],
    registers,
  })
  const attempted = new Histogram({
    name: 'adl_webhook_attempt_seconds',
    help: 'Attempts at webhook deliveries, by how they ended',
    labelNames: ['event', 'result'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
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
    lookedForJobs: (queue, way) => looked.inc({ queue, way }),
    webhookAttempted: (event, error, seconds) =>
      attempted.observe({ event, result: error ?? 'delivered' }, seconds),
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
}

/**
 * The depth of every queue, as supervision last counted it. Shown by the processes that supervise, so
 * that it is not scraped once for every worker.
 */
export function showQueues(registry: Registry, boss: PgBoss) {
  const registers = [registry]
  const jobs = new Gauge({
    name: 'adl_queue_jobs',
    help: 'Jobs in a queue, by state; dead letters are the ready jobs of the queue named .dlq',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      for (const { queue, oldest_ready_seconds, ...counts } of await countQueuedJobs(boss)) {
        for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
        oldest.set({ queue }, oldest_ready_seconds)
      }
    },
  })
  const oldest = new Gauge({
    name: 'adl_queue_oldest_ready_seconds',
    help: 'Age of the oldest job that is ready to be taken',
    labelNames: ['queue'],
    registers,
  })
}

/** Counts the answers of an API server. */
export function meterRequests(registry: Registry, server: Server) {
  const answered = new Histogram({
    name: 'adl_http_request_seconds',
    help: 'Requests, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  })
  server.events.on('response', ({ method, route, response, info }) => {
    const status = 'statusCode' in response ? String(response.statusCode) : 'aborted'
    const seconds = ((info.responded || Date.now()) - info.received) / 1000
    answered.observe({ method, route: route.path, status }, seconds)
  })
}

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 14_400]
