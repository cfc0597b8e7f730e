import type { PgBoss } from 'pg-boss'
import { bossDatabase } from '../jobs/queue.ts'
import type { Envelope } from '../jobs/queue.ts'
import type { Sql } from '../sql/db.ts'
import { isAnotherWaiting } from '../sql/queue-rows.ts'
import type { QueuedJob } from './queued-job.ts'

/** What a process can take: its slots, and whose jobs hold some of them. */
export interface Slots {
  readonly total: number
  readonly free: number
  /** By organization. */
  readonly held: ReadonlyMap<string, number>
}

/**
 * Claims jobs for free slots, in the order of their turns. Of several slots an organization gets the
 * last one only while nobody else waits: others need not wait for the end of its jobs, however long.
 * @returns the jobs, and whether there are probably more for the slots still free
 */
export async function takeJobs(boss: PgBoss, sql: Sql, queue: string, slots: Slots) {
  const limit = Math.max(1, slots.total - 1)
  const [orgId, most] = findLargest(slots.held)
  const full = orgId !== undefined && most >= limit
  const passedOver = full && (await isAnotherWaiting(sql, queue, orgId)) ? [orgId] : null
  const batchSize = full ? slots.free : Math.min(slots.free, limit - most)
  const jobs: QueuedJob[] = await boss.fetch<Envelope>(queue, {
    batchSize,
    includeMetadata: true,
    ignoreGroups: passedOver,
    db: bossDatabase(sql),
  })
  return { jobs, more: passedOver !== null || jobs.length === batchSize }
}

function findLargest(held: Slots['held']): [string | undefined, number] {
  return [...held].reduce<[string | undefined, number]>(
    (largest, entry) => (entry[1] > largest[1] ? entry : largest),
    [undefined, 0],
  )
}
