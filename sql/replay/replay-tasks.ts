import type { Comparison } from '../../jobs/rules/replay/comparison.ts'
import type { Replayability } from '../../jobs/rules/replay/replayability.ts'
import type { Queryable } from '../core/db.ts'
import { onlyRow } from '../core/db.ts'

export const TASK_STATUSES = [
  'pending',
  'leased',
  'completed',
  'failed',
  'skipped',
  'canceled',
] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

/** A task without the token of its lease, which only its holder knows. */
export interface TaskRow {
  id: string
  org_id: string
  project_id: string
  batch_id: string
  /** Its place in the batch, from 0. */
  ordinal: number
  trace_id: string
  replayability: Replayability
  status: TaskStatus
  /** How often it was given out. */
  attempt: number
  /** The name the worker gave itself; null unless one holds the task. */
  leased_by: string | null
  /** Null unless the task is leased. */
  leased_until: Date | null
  reason: string | null
  replayed_trace_id: string | null
  eval_score: number | null
  eval_verdict: string | null
  comparison: Comparison | null
  created_at: Date
  ended_at: Date | null
  /** Of its batch. */
  target_manifest_id: string | null
}

/** One with a reason is skipped from the start. */
export interface NewTask {
  readonly id: string
  readonly ordinal: number
  readonly trace_id: string
  readonly replayability: Replayability
  readonly reason: string | null
}

/** Inserts tasks of a batch whose place in it is empty. */
export async function insertTasks(
  sql: Queryable,
  orgId: string,
  batchId: string,
  tasks: readonly NewTask[],
) {
  await sql`
    insert into replay_tasks (org_id, project_id, batch_id, id, ordinal, trace_id, replayability,
      status, reason, created_at, ended_at)
    select b.org_id, b.project_id, b.id, k.id, k.ordinal, k.trace_id, k.replayability,
      case when k.reason is null then 'pending' else 'skipped' end, k.reason, b.created_at,
      case when k.reason is not null then clock_timestamp() end
    from replay_batches b, unnest(${tasks.map(({ id }) => id)}::uuid[],
      ${tasks.map(({ ordinal }) => ordinal)}::int[], ${tasks.map((k) => k.trace_id)}::text[],
      ${tasks.map((k) => k.replayability)}::text[], ${tasks.map(({ reason }) => reason)}::text[])
      as k (id, ordinal, trace_id, replayability, reason)
    where b.org_id = ${orgId} and b.id = ${batchId}
    on conflict (org_id, batch_id, ordinal) do nothing`
}

export async function findTask(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<TaskRow[]>`
    select ${taskColumns(sql)} from replay_tasks k
    join replay_batches b on b.org_id = k.org_id and b.id = k.batch_id
    where k.org_id = ${orgId} and k.id = ${id}`
  return row
}

export interface TaskFilter {
  readonly batchId: string
  readonly status?: TaskStatus | undefined
}

/** Tasks of a batch in their order, those behind a place. */
export async function listTasks(
  sql: Queryable,
  orgId: string,
  { batchId, status }: TaskFilter,
  page: { limit: number; after?: number | undefined },
) {
  return sql<TaskRow[]>`
    select ${taskColumns(sql)} from replay_tasks k
    join replay_batches b on b.org_id = k.org_id and b.id = k.batch_id
    where k.org_id = ${orgId} and k.batch_id = ${batchId} and k.ordinal > ${page.after ?? -1}
      ${status ? sql`and k.status = ${status}` : sql``}
    order by k.ordinal limit ${page.limit}`
}

/** Cancels what is open of a batch: leases end, and what runners still submit is refused. */
export async function cancelTasks(sql: Queryable, orgId: string, batchId: string) {
  await sql`
    update replay_tasks set status = 'canceled', reason = null, lease_token = null, leased_until = null,
      ended_at = clock_timestamp()
    where org_id = ${orgId} and batch_id = ${batchId} and status in ('pending', 'leased')`
}

/** Fails at most `limit` tasks that batches left open beyond their time. */
export async function expireTasks(sql: Queryable, limit: number) {
  const rows = await sql<{ n: number }[]>`
    with expired as (
      update replay_tasks set status = 'failed', reason = 'expired', lease_token = null,
        leased_until = null, ended_at = clock_timestamp()
      where (org_id, id) in (
        select k.org_id, k.id
        from replay_tallies y
        join replay_batches b on b.org_id = y.org_id and b.id = y.batch_id
        join replay_tasks k on k.org_id = b.org_id and k.batch_id = b.id
        where y.is_open and b.expires_at <= now() and k.status in ('pending', 'leased')
        limit ${limit} for update of k skip locked)
      returning 1)
    select count(*)::int as n from expired`
  return onlyRow(rows).n
}

/** The columns of a `TaskRow`, of tasks `k` and their batches `b`. */
function taskColumns(sql: Queryable) {
  return sql`k.id, k.org_id, k.project_id, k.batch_id, k.ordinal, k.trace_id, k.replayability, k.status,
    k.attempt, case when k.status = 'leased' then k.leased_by end as leased_by, k.leased_until, k.reason, k.replayed_trace_id, k.eval_score, k.eval_verdict, k.comparison,
    k.created_at, k.ended_at, b.target_manifest_id`
}
