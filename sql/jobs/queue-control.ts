import { CONTROL_CHANNEL } from '../../jobs/queue.ts'
import type { Queryable, Transaction } from '../core/db.ts'

/** A paused queue accepts jobs, but no worker takes any before it is resumed. */
export interface PausedQueue {
  queue: string
  paused_at: Date
  reason: string | null
}

/** What one organization may do in one queue. Its jobs are accepted and wait, as those of others do. */
export interface OrgLimit {
  queue: string
  org_id: string
  /** No worker takes any of its jobs. */
  paused: boolean
  /** Its jobs that run at once, over all processes; null for as many as there are slots. */
  max_running: number | null
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

/**
 * Replaces what was set before; jobs that run go on. One that neither pauses nor limits is refused by
 * the database. Workers are notified at the commit.
 */
export async function setOrgLimit(sql: Queryable, limit: OrgLimit) {
  const { queue, org_id, paused, max_running, reason } = limit
  await sql`
    with limited as (
      insert into queue_limits as l (queue, org_id, paused_at, max_running, reason)
      values (${queue}, ${org_id}, case when ${paused} then now() end, ${max_running}, ${reason})
      on conflict (queue, org_id) do update set
        paused_at = case when ${paused} then coalesce(l.paused_at, now()) end,
        max_running = excluded.max_running, reason = excluded.reason, set_at = now()
    )
    select pg_notify(${CONTROL_CHANNEL}, ${queue})`
}

/** False when nothing was set. */
export async function clearOrgLimit(
  sql: Queryable,
  { queue, org_id }: Pick<OrgLimit, 'queue' | 'org_id'>,
) {
  const cleared = await sql`
    with cleared as (
      delete from queue_limits where queue = ${queue} and org_id = ${org_id} returning queue
    )
    select pg_notify(${CONTROL_CHANNEL}, queue) from cleared`
  return cleared.length === 1
}

/** By queue, then by when they were set. Those of all queues and organizations, unless some are named. */
export async function listOrgLimits(
  sql: Queryable,
  { queue, org_id }: Partial<Pick<OrgLimit, 'queue' | 'org_id'>> = {},
) {
  return sql<(OrgLimit & { paused_at: Date | null; set_at: Date })[]>`
    select queue, org_id, paused_at is not null as paused, paused_at, max_running, reason, set_at
    from queue_limits
    where true ${queue ? sql`and queue = ${queue}` : sql``}
      ${org_id ? sql`and org_id = ${org_id}` : sql``}
    order by queue, set_at, org_id`
}

/** Lets processes take from a limited queue one after another, until the transaction ends. */
export async function lockLimits(tx: Transaction, queue: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended('queue_limits ' || ${queue}, 0))`
}
