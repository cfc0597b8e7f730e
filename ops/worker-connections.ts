import { pools } from '../workers/pools.ts'
import type { Config } from './config.ts'
import {
  apiConnections,
  LISTENER,
  sum,
  SUPERVISION_CONNECTIONS,
  workerConnections,
} from './connections.ts'

/** Jobs that a worker process of some pools runs at once. */
export function slotsOf({ concurrency }: Config, names: readonly string[]): number {
  const slots = names.map((name) => {
    const { handlers = [], concurrency: usual = 1 } = pools[name] ?? {}
    return handlers.length * (concurrency[name] ?? usual)
  })
  return sum(slots)
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

const WORKERS_OF = 'workers of '
