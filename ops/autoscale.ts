import type { PgBoss } from 'pg-boss'
import type { Sql } from '../sql/core/db.ts'
import { pools } from '../workers/pools.ts'
import { countQueuedJobs } from './boss.ts'
import { countHeld } from './held-jobs.ts'

/** How many processes a pool could use now, and why. */
export interface ScalingAdvice {
  readonly pool: string
  /** Jobs of all its queues that wait and may run. */
  readonly ready: number
  readonly active: number
  /** Of one process, in all queues together. */
  readonly slots: number
  readonly desired: number
  readonly queues: readonly QueueLoad[]
}

interface QueueLoad {
  readonly queue: string
  readonly ready: number
  readonly active: number
  /** Of one process. */
  readonly slots: number
}

/**
 * Each queue has slots of its own in each process, so the queue that needs most processes decides:
 * `desired` is the largest of `ceil((ready + active) / slots)` over the queues. Jobs that a pause or a
 * limit holds back are not ready.
 * @param concurrency slots of a queue by pool, where they are set; else those that the pool declares
 * @returns undefined for a pool there is not
 */
export async function adviseScaling(
  { sql, boss }: { sql: Sql; boss: PgBoss },
  name: string,
  concurrency: Readonly<Record<string, number>>,
): Promise<ScalingAdvice | undefined> {
  const pool = pools[name]
  if (!pool) return undefined
  const slots = concurrency[name] ?? pool.concurrency
  const names = pool.jobs.map(({ name }) => name)
  const counted = await countQueuedJobs(boss, names)
  const held = await countHeld(sql, counted)
  const queues = counted.map(({ queue, ready, active }): QueueLoad => {
    return { queue, ready: ready - (held.get(queue) ?? 0), active, slots }
  })
  return {
    pool: name,
    ready: queues.reduce((sum, queue) => sum + queue.ready, 0),
    active: queues.reduce((sum, queue) => sum + queue.active, 0),
    slots: slots * names.length,
    desired: Math.max(0, ...queues.map((each) => Math.ceil((each.ready + each.active) / slots))),
    queues,
  }
}
