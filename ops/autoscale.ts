import type { PgBoss } from 'pg-boss'
import type { Sql } from '../sql/core/db.ts'
import { countActive, countWaiting } from '../sql/jobs/pg-boss.ts'
import { listOrgLimits, listPausedQueues } from '../sql/jobs/queue-control.ts'
import type { OrgLimit } from '../sql/jobs/queue-control.ts'
import { pools } from '../workers/pools.ts'
import { countQueuedJobs } from './boss.ts'

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

/** Of the jobs that are ready in each queue, those that a pause or a limit holds back. */
export async function countHeld(
  sql: Sql,
  counted: readonly { readonly queue: string; readonly ready: number }[],
): Promise<Map<string, number>> {
  const paused = new Set((await listPausedQueues(sql)).map(({ queue }) => queue))
  const limits = Map.groupBy(await listOrgLimits(sql), ({ queue }) => queue)
  const held = new Map<string, number>()
  for (const { queue, ready } of counted) {
    const limited = limits.get(queue) ?? []
    // What is ready was counted earlier.
    const most = paused.has(queue) ? ready : await countLimited(sql, queue, limited)
    held.set(queue, Math.min(ready, most))
  }
  return held
}

/** Jobs that wait because of what is set for their organizations. */
async function countLimited(sql: Sql, queue: string, limits: readonly OrgLimit[]) {
  if (limits.length === 0) return 0
  const orgIds = limits.map(({ org_id }) => org_id)
  const waiting = await countWaiting(sql, queue, orgIds)
  const active = await countActive(sql, queue, orgIds)
  return limits.reduce((sum, { org_id, paused, max_running }) => {
    const most = paused ? 0 : (max_running ?? Infinity)
    const room = Math.max(0, most - (active.get(org_id) ?? 0))
    return sum + Math.max(0, (waiting.get(org_id) ?? 0) - room)
  }, 0)
}
