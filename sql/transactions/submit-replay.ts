import { setImmediate } from 'node:timers/promises'
import type { Queue } from '../../jobs/queue.ts'
import { MAX_ATTEMPTS } from '../../jobs/rules/replay/attempts.ts'
import type { ReplayOrigin } from '../../jobs/rules/replay/provenance.ts'
import { replayScore } from '../../jobs/rules/replay/replay-score.ts'
import { findSubmissionFault } from '../../jobs/rules/replay/submission.ts'
import type { Submission } from '../../jobs/rules/replay/submission.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import type { Transaction } from '../core/db.ts'
import type { Charge } from '../org/usage.ts'
import { findRun } from '../replay/compared-runs.ts'
import type { RecordedRun } from '../replay/compared-runs.ts'
import { endTask, lockTask, retryTask } from '../replay/submitted-tasks.ts'
import type { LockedTask, TaskResult } from '../replay/submitted-tasks.ts'
import { compareReplay } from './compare-replay.ts'
import { markStored } from './mark-replay.ts'
import type { MarkFault } from './mark-replay.ts'
import { storeRun } from './store-run.ts'
import type { StoredRun, TraceExists } from './store-run.ts'
import { chargeTraces } from './store-traces.ts'

/** What became of a submission. Nothing is written but by `stored`. */
export type SubmitOutcome =
  | {
      readonly kind: 'stored'
      readonly result: TaskResult
      readonly warnings: readonly TraceWarning[]
    }
  /** The same was submitted before. */
  | { readonly kind: 'repeated'; readonly result: TaskResult }
  /** The task has ended otherwise. */
  | { readonly kind: 'task_ended'; readonly result: TaskResult }
  /** The lease that was named is not the present one. */
  | { readonly kind: 'lease_lost' }
  /** No lease was named, and somebody holds one. */
  | { readonly kind: 'leased' }
  | { readonly kind: 'unknown_task' }
  /** The request is wrong, or names a run that is no replay of the task; or one that is not there. */
  | MarkFault
  | TraceExists
  /** The month's quota does not hold the trace; the lease goes on. */
  | { readonly kind: 'over_quota'; readonly limit: number; readonly left: number }

/** Whose task it is, and what a trace is charged to and stored as. */
export type SubmitCharge = Pick<Charge, 'orgId' | 'quotas' | 'at'> & {
  readonly contentForm: ContentForm
}

/**
 * Applies a submission to its task, which others that submit wait for: the trace, its judgement, the
 * comparison and the end of the task are one.
 *
 * Locks in this order, so that two submissions never wait for each other: the task, the traces, what
 * judging locks, the counter of the quota. Beyond the quota it rolls back to where it began, so that the
 * caller may commit in any case.
 */
export async function submitReplay(
  tx: Transaction,
  queue: Queue,
  charge: SubmitCharge,
  taskId: string,
  submission: Submission,
): Promise<SubmitOutcome> {
  const message = findSubmissionFault(submission)
  if (message !== undefined) return { kind: 'invalid', message }
  const task = await lockTask(tx, charge.orgId, taskId)
  const refusal = refuse(task, submission)
  if (!task || refusal) return refusal ?? { kind: 'unknown_task' }
  switch (submission.status) {
    case 'completed':
      return complete({ tx, queue, charge, task }, submission)
    case 'failed':
      return stored(await fail({ tx, queue, charge, task }, submission))
    case 'skipped': {
      const { error, hash } = submission
      const reason = error ?? 'runner_skipped'
      return stored(await endTask(tx, task, { status: 'skipped', reason, hash }))
    }
  }
}

function refuse(
  task: LockedTask | undefined,
  { lease_token, hash }: Submission,
): SubmitOutcome | undefined {
  if (!task) return { kind: 'unknown_task' }
  const isRepeated = task.submission_hash?.equals(hash)
  if (task.has_ended) {
    return { kind: isRepeated ? 'repeated' : 'task_ended', result: resultOf(task) }
  }
  if (lease_token !== null && task.lease_token === lease_token) return undefined
  // It gave the task back, whoever holds that by now. The holder's next failure may read the same.
  if (isRepeated) return { kind: 'repeated', result: { ...resultOf(task), status: 'pending' } }
  if (lease_token !== null) return { kind: 'lease_lost' }
  return task.lease_token === null || task.has_run_out ? undefined : { kind: 'leased' }
}

async function fail({ tx, queue, task }: Work, { error, retry, hash }: Submission) {
  const reason = error ?? 'runner_failed'
  if (retry && task.attempt < MAX_ATTEMPTS) return retryTask(tx, task, { reason, hash })
  const original = await findRun(tx, originalKey(task))
  const report = { failed: true, eval_score: null, eval_verdict: null }
  const pair = { ...pairOf(task, original), replayed_trace_id: null }
  const { comparison } = await compareReplay(tx, queue, pair, report)
  return endTask(tx, task, { status: 'failed', reason, hash, comparison })
}

async function complete(work: Work, submission: Submission): Promise<SubmitOutcome> {
  const { tx, charge, queue, task } = work
  await tx`savepoint submission`
  const original = await findRun(tx, originalKey(task))
  await setImmediate()
  const replay = await takeReplay(work, submission, original)
  if ('kind' in replay) return replay
  const { eval_score, eval_verdict, hash } = submission
  const { trace_id: replayed_trace_id, isNew, warnings } = replay
  const pair = { ...pairOf(task, original), replayed_trace_id }
  const report = { failed: false, eval_score, eval_verdict }
  const result = await compareReplay(tx, queue, pair, report)
  const end = { status: 'completed', reason: null, hash, replayed_trace_id, ...result } as const
  const ended = await endTask(tx, task, end)
  const over = await chargeTraces(tx, queue, charge, isNew ? 1 : 0)
  if (!over) return stored(ended, warnings)
  await tx`rollback to savepoint submission`
  return { kind: 'over_quota', ...over }
}

/** Stores the run that was submitted, or marks the one that was stored before. */
async function takeReplay(
  work: Work,
  { trace, replayed_trace_id, eval_score, eval_verdict }: Submission,
  original: RecordedRun | undefined,
): Promise<TakenReplay | SubmitOutcome> {
  const { task, charge } = work
  const scores = eval_score === null ? [] : [replayScore(task.task_id, eval_score, eval_verdict)]
  const origin = originOf(task, original)
  if (trace) {
    const run = { ...trace, scores: [...trace.scores, ...scores] }
    return storeRun(work.tx, work.queue, originalKey(task), {
      run,
      origin,
      form: charge.contentForm,
    })
  }
  const taken = { trace_id: replayed_trace_id, isNew: false, warnings: [] }
  if (replayed_trace_id === null) return taken
  const key = { ...originalKey(task), trace_id: replayed_trace_id }
  return (await markStored(work.tx, work.queue, key, { origin, scores })) ?? taken
}

function stored(result: TaskResult, warnings: readonly TraceWarning[] = []): SubmitOutcome {
  return { kind: 'stored', result, warnings }
}

function resultOf({
  task_id,
  status,
  replayed_trace_id,
  eval_score,
  eval_verdict,
  comparison,
}: LockedTask): TaskResult {
  return { task_id, status, replayed_trace_id, eval_score, eval_verdict, comparison }
}

function originalKey({ org_id, project_id, trace_id }: LockedTask) {
  return { org_id, project_id, trace_id }
}

function pairOf(task: LockedTask, original: RecordedRun | undefined) {
  const { org_id, project_id, agent_name, trace_id } = task
  return { org_id, project_id, agent_name, original_trace_id: trace_id, original }
}

function originOf(task: LockedTask, original: RecordedRun | undefined): ReplayOrigin {
  const { batch_id, task_id, attempt, agent_name, target_manifest_id } = task
  const of = { trace_id: task.trace_id, task_id: original?.task_id ?? null }
  return { batch_id, task_id, attempt, agent_name, target_manifest_id, original: of }
}

interface Work {
  readonly tx: Transaction
  readonly queue: Queue
  readonly charge: SubmitCharge
  readonly task: LockedTask
}

/** The run that a task has come to; its id is null where only a score was submitted. */
type TakenReplay = Omit<StoredRun, 'trace_id'> & { readonly trace_id: string | null }
