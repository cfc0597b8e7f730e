import type { ApiPools, ReadPools } from '../api/context.ts'
import type { DatabaseOptions } from '../sql/core/db.ts'
import { pools } from '../workers/pools.ts'
import type { Config } from './config.ts'

/**
 * The pools of an API process. A statement of an operation may take as long as its class; one organization
 * gets at most a share of a pool, so that the others find a connection at once: reads keep the server's cores
 * busy, while writes mostly wait for its disk.
 */
export function apiPools(config: Config): Record<keyof ApiPools, DatabaseOptions> {
  const waitMs = config.DATABASE_WAIT_SECONDS * 1000
  const shared = (max: number, statementTimeoutMs: number, share = 0.5) => {
    const maxEach = Math.max(1, Math.floor(max * share))
    return { max, maxEach, waitMs, ...within(statementTimeoutMs) }
  }
  return {
    auth: { max: config.DATABASE_AUTH_CONNECTIONS, waitMs, ...within(5000) },
    read: shared(config.DATABASE_READ_CONNECTIONS, 5000),
    aggregate: shared(config.DATABASE_AGGREGATE_CONNECTIONS, 15_000),
    compare: shared(config.DATABASE_COMPARE_CONNECTIONS, 60_000),
    write: shared(config.DATABASE_WRITE_CONNECTIONS, 30_000, 0.75),
  }
}

/** The server ends a statement in time, but not a commit. One that says nothing for longer is given up. */
function within(statementTimeoutMs: number) {
  return { statementTimeoutMs, silenceMs: statementTimeoutMs + SILENCE_MS }
}

/** The pools of an API process on the standby that it reads from: those for reading, as on the primary. */
export function standbyPools(config: Config): Record<keyof ReadPools, DatabaseOptions> {
  const { read, aggregate, compare } = apiPools(config)
  return { read, aggregate, compare }
}

/** Most connections that an API process holds on its standby at once: its pools, and one to watch it. */
export function standbyConnections(config: Config): number {
  return sum(Object.values(standbyPools(config)).map(({ max = 0 }) => max)) + 1
}

/** Jobs that a worker process of some pools runs at once. */
export function slotsOf({ concurrency }: Config, names: readonly string[]): number {
  const slots = names.map((name) => {
    const { jobs = [], concurrency: usual = 1 } = pools[name] ?? {}
    return jobs.length * (concurrency[name] ?? usual)
  })
  return sum(slots)
}

/** Connections of a worker's pool: one a slot, and some for claims, heartbeats, fetching and settling. */
export const workerConnections = (slots: number) => slots + SPARE_CONNECTIONS

/** Most connections that an API process holds at once. */
export function apiConnections(config: Config): number {
  return sum(Object.values(apiPools(config)).map(({ max = 0 }) => max)) + LISTENER
}

/** Most connections that a worker process of some pools holds at once. */
export function workersConnections(config: Config, names: readonly string[]): number {
  const supervision = names.includes('maintenance') ? SUPERVISION_CONNECTIONS : 0
  return workerConnections(slotsOf(config, names)) + LISTENER + supervision
}

/** The name that a worker process is listed under. */
export const workersName = (names: readonly string[]) => `${WORKERS_OF}${names.join(',')}`

/** Most connections that a process holds at once, by the name it is listed under. */
export function connectionsOf(config: Config, name: string): number {
  if (!name.startsWith(WORKERS_OF)) return apiConnections(config)
  return workersConnections(config, name.slice(WORKERS_OF.length).split(','))
}

function sum(numbers: readonly number[]) {
  return numbers.reduce((total, each) => total + each, 0)
}

const SILENCE_MS = 5000
/** Of a process that supervises the queues, beside its pool. */
export const SUPERVISION_CONNECTIONS = 2
const SPARE_CONNECTIONS = 4
/** Hears notifications. */
const LISTENER = 1
const WORKERS_OF = 'workers of '
