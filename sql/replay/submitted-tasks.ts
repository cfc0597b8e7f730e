import type { Comparison } from '../../jobs/rules/replay/comparison.ts'
import type { EvalVerdict } from '../../jobs/rules/core/verdicts.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText, onlyRow, storableText } from '../core/db.ts'
import type { TaskStatus } from './replay-tasks.ts'

/** What came of a task; shown as it is. */
export interface TaskResult {
  task_id: string
  status: TaskStatus
  replayed_trace_id: string | null
  eval_score: number | null
  eval_verdict: EvalVerdict | null
  comparison: Comparison | null
}

/** A task that nobody else can end before the transaction ends, with what it says of its batch. */
export interface LockedTask extends TaskResult {
  org_id: string
  project_id: string
  batch_id: string
  trace_id: string
  attempt: number
  lease_token: string | null
  /** Nobody holds it any more, although nobody else took it yet. */
  has_run_out: boolean
  has_ended: boolean
  /** Of what ended it, or gave it back last. */
  submission_hash: Buffer | null
  agent_name: string
  target_manifest_id: string | null
}

/** How a task ends. */
export interface TaskEnd {
  readonly status: 'completed' | 'failed' | 'skipped'
  readonly reason: string | null
  readonly hash: Buffer
  readonly replayed_trace_id?: string | null
  readonly eval_score?: number | null
  readonly eval_verdict?: EvalVerdict | null
  readonly comparison?: Comparison | null
}

type TaskKey = Pick<LockedTask, 'org_id' | 'task_id'>

export async function lockTask(tx: Transaction, orgId: string, id: string) {
  const [task] = await tx<LockedTask[]>`
    select ${resultColumns(tx)}, t.org_id, t.project_id, t.batch_id, t.trace_id, t.attempt,
      t.lease_token, coalesce(t.leased_until < clock_timestamp(), false) as has_run_out,
      t.ended_at is not null as has_ended, t.submission_hash, b.agent_name, b.target_manifest_id
    from replay_tasks t join replay_batches b on b.org_id = t.org_id and b.id = t.batch_id
    where t.org_id = ${orgId} and t.id = ${id}
    for update of t`
  return task
}

/** What came of a task so far. @throws when there is none */
export async function findTaskResult(sql: Queryable, orgId: string, id: string) {
  const rows = await sql<(TaskResult & { has_ended: boolean })[]>`
    select ${resultColumns(sql)}, t.ended_at is not null as has_ended
    from replay_tasks t where t.org_id = ${orgId} and t.id = ${id}`
  return onlyRow(rows)
}

/** Ends a locked task and returns its result. */
export async function endTask(tx: Transaction, { org_id, task_id }: TaskKey, end: TaskEnd) {
  const { reason, hash, ...result } = end
  const { replayed_trace_id = null, eval_score = null, eval_verdict = null } = result
  const comparison = result.comparison ? jsonText(result.comparison) : null
  const rows = await tx<TaskResult[]>`
    update replay_tasks t set status = ${result.status}, reason = ${reasonText(reason)},
      replayed_trace_id = ${replayed_trace_id}, eval_score = ${eval_score},
      eval_verdict = ${eval_verdict}, comparison = ${comparison}::text::jsonb,
      submission_hash = ${hash}, ended_at = clock_timestamp(), lease_token = null, leased_until = null
    where t.org_id = ${org_id} and t.id = ${task_id}
    returning ${resultColumns(tx)}`
  return onlyRow(rows)
}

/** Has a locked task, whose attempt failed for the reason, wait for another; returns its result so far. */
export async function retryTask(
  tx: Transaction,
  { org_id, task_id }: TaskKey,
  { reason, hash }: Pick<TaskEnd, 'reason' | 'hash'>,
) {
  const rows = await tx<TaskResult[]>`
    update replay_tasks t set status = 'pending', reason = ${reasonText(reason)},
      submission_hash = ${hash}, lease_token = null, leased_until = null
    where t.org_id = ${org_id} and t.id = ${task_id}
    returning ${resultColumns(tx)}`
  return onlyRow(rows)
}

function reasonText(reason: string | null) {
  return reason === null ? null : storableText(reason)
}

function resultColumns(sql: Queryable) {
  return sql`t.id as task_id, t.status, t.replayed_trace_id, t.eval_score, t.eval_verdict, t.comparison`
}
