import { setTimeout as pause } from 'node:timers/promises'
import type { Server } from '@hapi/hapi'
import type { PgBoss } from 'pg-boss'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
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
  const attempted = new Histogram({
    name: 'adl_webhook_attempt_seconds',
    help: 'Attempts at webhook deliveries, by how they ended',
    labelNames: ['event', 'result'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
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

/**
 * The depth of every queue, as supervision last counted it. Shown by the processes that supervise, so
 * that it is not scraped once for every worker. While the database is away the last figures are shown,
 * and a scrape does not wait for it longer than `FIGURES_MS`.
 */
export function showQueues(registry: Registry, boss: PgBoss) {
  const registers = [registry]
  let reading: Promise<void> | undefined
  let readAt = performance.now()

  async function read() {
    // Without an answer the last figures stand.
    const counted = await countQueuedJobs(boss).catch(() => undefined)
    if (!counted) return
    for (const { queue, oldest_ready_seconds, ...counts } of counted) {
      for (const [state, count] of Object.entries(counts)) jobs.set({ queue, state }, count)
      oldest.set({ queue }, oldest_ready_seconds)
    }
    readAt = performance.now()
  }

  async function collect() {
    reading ??= read().finally(() => {
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

/** How long a scrape waits for the database. */
const FIGURES_MS = 1000
const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 14_400]
