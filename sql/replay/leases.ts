import { MAX_ATTEMPTS, MAX_CLAIM } from '../../jobs/rules/replay/attempts.ts'
import type { Replayability } from '../../jobs/rules/replay/replayability.ts'
import type { Queryable } from '../core/db.ts'
import { storableText } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

/** Which tasks a worker asks for, and how it holds them. */
export interface ClaimRequest {
  /** The projects the worker may use; null for all of the organization. */
  readonly projectIds: readonly string[] | null
  /** Tasks of this batch only, which may be one in push mode; without it those of all pull batches. */
  readonly batchId?: string | undefined
  readonly agentName?: string | undefined
  readonly max: number
  readonly leaseSeconds: number
  /** The name the worker gives itself; null for the runner of a push batch, which is sent the tasks. */
  readonly leasedBy: string | null
}

/** What names a lease: it holds as long as the task has this token. */
export interface Lease {
  readonly org_id: string
  /** The task. */
  readonly id: string
  readonly lease_token: string
}

/** A task that was given out just now. */
export interface LeasedTask extends Lease {
  readonly project_id: string
  readonly batch_id: string
  readonly trace_id: string
  readonly replayability: Replayability
  /** 1 for the first time. */
  readonly attempt: number
  readonly leased_until: Date
  readonly target_manifest_id: string
}

/**
 * Gives out tasks: of the oldest batch first, and of each first those whose lease has run out, then those
 * that wait, in their order. Nobody waits: a task that another claim is about to take is passed over.
 * Tasks whose last lease has run out are failed by the way (`lease_lost`).
 *
 * The batches are walked in their order by a nested loop, which stops at the row that makes it `max`:
 * no task is locked that is not given out. An `order by` around it would lock `max` of every batch. Two
 * indexes are read, so that no claim walks past the tasks that others hold.
 */
export async function claimTasks(
  sql: Queryable,
  orgId: string,
  { projectIds, batchId, agentName, max, leaseSeconds, leasedBy }: ClaimRequest,
): Promise<LeasedTask[]> {
  const hasRunOut = sql`t.status = 'leased' and t.leased_until < now()`
  const isLost = sql`t.attempt >= ${sql.unsafe(String(MAX_ATTEMPTS))}`
  const ofBatch = sql`t.org_id = ${orgId} and t.batch_id = b.id`
  // Written into the text: with limits that it does not know Postgres would plan each claim anew.
  const most = sql.unsafe(String(MAX_CLAIM))
  return sql<LeasedTask[]>`
    with batches as materialized (
      select b.id, b.created_at, b.target_manifest_id
      from replay_tallies y join replay_batches b on b.org_id = y.org_id and b.id = y.batch_id
      where y.org_id = ${orgId} and y.is_open
        and b.canceled_at is null and b.expires_at > now() and b.prepared_at is not null
        and ${batchId === undefined ? sql`b.mode = 'pull'` : sql`b.id = ${batchId}`}
        ${agentName === undefined ? sql`` : sql`and b.agent_name = ${agentName}`}
        ${inProjects(sql, sql`b.project_id`, projectIds)}
      order by b.created_at, b.id
    ), lost as materialized (
      select t.id from batches b cross join lateral (
        select t.id from replay_tasks t where ${ofBatch} and ${hasRunOut} and ${isLost}
        order by t.leased_until limit ${most} for update skip locked) t
      limit ${most}
    ), picked as materialized (
      select t.id from batches b cross join lateral (
        select id from (
          select t.id from replay_tasks t where ${ofBatch} and ${hasRunOut} and not ${isLost}
          order by t.leased_until limit ${most} for update skip locked) as run_out
        union all
        select id from (
          select t.id from replay_tasks t where ${ofBatch} and t.status = 'pending'
          order by t.ordinal limit ${most} for update skip locked) as pending) t
      limit ${max}
    ), taken as (
      update replay_tasks t set
        status = case when l.is_lost then 'failed' else 'leased' end,
        attempt = t.attempt + case when l.is_lost then 0 else 1 end,
        reason = case when l.is_lost then 'lease_lost' end,
        ended_at = case when l.is_lost then now() end,
        lease_token = case when not l.is_lost then gen_random_uuid() end,
        leased_by = case when l.is_lost then t.leased_by else ${leasedBy} end,
        leased_until = case when not l.is_lost then now() + make_interval(secs => ${leaseSeconds}) end
      from (
        select id, true as is_lost from lost union all select id, false from picked) as l
      where t.org_id = ${orgId} and t.id = l.id
      returning t.*
    )
    select t.org_id, t.project_id, t.batch_id, t.id, t.trace_id, t.replayability, t.attempt,
      t.lease_token, t.leased_until, b.target_manifest_id
    from taken t join batches b on b.id = t.batch_id
    where t.status = 'leased'
    order by b.created_at, b.id, t.ordinal`
}

/**
 * Prolongs a lease from now on, also one that has run out while nobody else took the task. Returns when
 * it ends; undefined when the lease is not the present one.
 */
export async function extendLease(sql: Queryable, lease: Lease, seconds: number) {
  const [row] = await sql<{ leased_until: Date }[]>`
    update replay_tasks set leased_until = now() + make_interval(secs => ${seconds})
    where ${isHeld(sql, lease)} returning leased_until`
  return row?.leased_until
}

/**
 * Ends a lease without a result. The task waits again; or it has failed for the reason, when the attempt
 * counts and was the last. Returns what became of it; undefined when the lease is not the present one.
 * @param counted false gives the attempt back
 * @param reason a word or a sentence, at most 4,000 characters
 */
export async function giveBack(
  sql: Queryable,
  lease: Lease,
  { counted, reason }: { counted: boolean; reason: string },
): Promise<'pending' | 'failed' | undefined> {
  const isLast = sql`${counted}::boolean and attempt >= ${MAX_ATTEMPTS}`
  const [row] = await sql<{ status: 'pending' | 'failed' }[]>`
    update replay_tasks set status = case when ${isLast} then 'failed' else 'pending' end,
      attempt = attempt - ${counted ? 0 : 1},
      reason = case when ${isLast} then ${storableText(reason)} end,
      ended_at = case when ${isLast} then now() end,
      lease_token = null, leased_until = null
    where ${isHeld(sql, lease)} returning status`
  return row?.status
}

/** Ends a task as one that is not run. False when the lease is not the present one. */
export async function skipTask(sql: Queryable, lease: Lease, reason: string): Promise<boolean> {
  const { count } = await sql`
    update replay_tasks set status = 'skipped', reason = ${storableText(reason)}, ended_at = now(),
      lease_token = null, leased_until = null
    where ${isHeld(sql, lease)}`
  return count > 0
}

function isHeld(sql: Queryable, { org_id, id, lease_token }: Lease) {
  return sql`org_id = ${org_id} and id = ${id} and lease_token = ${lease_token}`
}
