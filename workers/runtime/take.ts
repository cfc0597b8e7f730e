import type { PgBoss } from 'pg-boss'
import { bossDatabase } from '../../jobs/pg-boss.ts'
import type { Envelope } from '../../jobs/queue.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { isAnotherWaiting } from '../../sql/jobs/pg-boss.ts'
import type { QueuedJob } from './attempt.ts'
import type { Slots } from './slots.ts'

/**
 * Claims jobs for free slots, in the order of their turns. Where there are several slots, an
 * organization gets the last one only while no other waits, so that others need not wait for the end
 * of its jobs.
 * @returns the jobs, first turn first, and whether there are probably more for the slots still free
 */
export async function takeJobs(
  boss: PgBoss,
  sql: Queryable,
  queue: string,
  slots: Pick<Slots, 'total' | 'free' | 'held'>,
) {
  const free = slots.free()
  const limit = Math.max(1, slots.total - 1)
  const [orgId, most] = findLargest(slots.held())
  const full = orgId !== undefined && most >= limit
  const passedOver = full && (await isAnotherWaiting(sql, queue, orgId)) ? [orgId] : null
  const batchSize = full ? free : Math.min(free, limit - most)
  const jobs: QueuedJob[] = await boss.fetch<Envelope>(queue, {
    batchSize,
    includeMetadata: true,
    ignoreGroups: passedOver,
    db: bossDatabase(sql),
  })
  // The rows of an UPDATE come back in no order.
  jobs.sort(byTurn)
  return { jobs, more: passedOver !== null || jobs.length === batchSize }
}

function byTurn(a: QueuedJob, b: QueuedJob) {
  return b.priority - a.priority || a.createdOn.getTime() - b.createdOn.getTime()
}

function findLargest(held: ReadonlyMap<string, number>): [string | undefined, number] {
  return [...held].reduce<[string | undefined, number]>(
    (largest, entry) => (entry[1] > largest[1] ? entry : largest),
    [undefined, 0],
  )
}
