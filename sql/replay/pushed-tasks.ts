import type { Queryable, Transaction } from '../core/db.ts'

/** A batch in push mode as its dispatch looks at it. */
export interface PushBatch {
  readonly runner_url: string
  /** Tasks that its runner may have at once. */
  readonly max_in_flight: number
  /** Neither canceled nor expired nor paused, and the job is the one that sends it. */
  readonly is_open: boolean
  /** The key on whose behalf it is sent was revoked. */
  readonly is_revoked: boolean
  /** Tasks that the runner has: they were sent, and their leases hold. */
  readonly in_flight: number
  /** Tasks that anybody has, leases that have run out included. */
  readonly leased: number
  /** Until the first of their leases ends, below 0 when it has; null without any. */
  readonly next_end_seconds: number | null
}

/** A batch, and the job that asks. */
interface DispatchKey {
  readonly batchId: string
  readonly jobId: string | null
}

/**
 * The batch, which nobody else looks at in this way until the transaction ends: so that its runner never
 * has more tasks than it may. Undefined for one that is gone or not in push mode.
 */
export async function lockPushBatch(
  tx: Transaction,
  orgId: string,
  { batchId, jobId }: DispatchKey,
): Promise<PushBatch | undefined> {
  await tx`
    select from replay_batches where org_id = ${orgId} and id = ${batchId} for no key update`
  // A statement of its own: it has to see what was committed while the one above waited.
  const [batch] = await tx<PushBatch[]>`
    select b.runner_url, b.max_in_flight,
      b.canceled_at is null and b.expires_at > now() and b.paused_reason is null
        and b.dispatch_job_id = ${jobId} as is_open,
      exists (select from jobs j join api_keys a on a.org_id = j.org_id and a.id = j.created_by
        where j.org_id = b.org_id and j.id = b.dispatch_job_id
          and a.revoked_at is not null) as is_revoked,
      k.in_flight, k.leased, k.next_end_seconds
    from replay_batches b, lateral (
      select count(*)::int as leased,
        (count(*) filter (where leased_by is null and leased_until > now()))::int as in_flight,
        extract(epoch from min(leased_until) - now())::float8 as next_end_seconds
      from replay_tasks
      where org_id = b.org_id and batch_id = b.id and status = 'leased') k
    where b.org_id = ${orgId} and b.id = ${batchId} and b.mode = 'push'`
  return batch
}

/**
 * Sends nothing more of a batch, for this reason. False for one that has nothing left to send, or is sent
 * by another job.
 */
export async function pauseBatch(
  sql: Queryable,
  orgId: string,
  { batchId, jobId, reason }: DispatchKey & { readonly reason: string },
) {
  const { count } = await sql`
    update replay_batches b set paused_reason = ${reason}
    where b.org_id = ${orgId} and b.id = ${batchId} and b.canceled_at is null
      and b.dispatch_job_id = ${jobId}
      and exists (select from replay_tallies y
        where y.org_id = b.org_id and y.batch_id = b.id and y.is_open)`
  return count > 0
}

/** How many tasks a batch has, and how many of them have ended. */
export async function countTasks(sql: Queryable, orgId: string, batchId: string) {
  const [row] = await sql<{ total: number; ended: number }[]>`
    select total, completed + failed + skipped + canceled as ended from replay_tallies
    where org_id = ${orgId} and batch_id = ${batchId}`
  return { total: row?.total ?? 0, ended: row?.ended ?? 0 }
}
