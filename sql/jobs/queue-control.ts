import { CONTROL_CHANNEL } from '../../jobs/queue.ts'
import type { Queryable } from '../core/db.ts'

/** A paused queue accepts jobs, but no worker takes any before it is resumed. */
export interface PausedQueue {
  queue: string
  paused_at: Date
  reason: string | null
}

/** Pausing a paused queue changes nothing. Workers are notified at the commit. */
export async function pauseQueue(sql: Queryable, queue: string, reason: string | null) {
  await sql`
    with paused as (
      insert into queue_control (queue, reason) values (${queue}, ${reason})
      on conflict do nothing
    )
    select pg_notify(${CONTROL_CHANNEL}, ${queue})`
}

/** False when the queue was not paused. */
export async function resumeQueue(sql: Queryable, queue: string) {
  const resumed = await sql`
    with resumed as (
      delete from queue_control where queue = ${queue} returning queue
    )
    select pg_notify(${CONTROL_CHANNEL}, queue) from resumed`
  return resumed.length === 1
}

export async function listPausedQueues(sql: Queryable) {
  return sql<PausedQueue[]>`select queue, paused_at, reason from queue_control order by queue`
}
