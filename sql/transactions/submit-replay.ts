import { randomUUIDv7 } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { detectViolations } from '../../jobs/detect-violations.ts'
import type { Queue } from '../../jobs/queue.ts'
import { MAX_ATTEMPTS } from '../../jobs/rules/replay/attempts.ts'
import { markReplay } from '../../jobs/rules/replay/provenance.ts'
import type { ReplayOrigin } from '../../jobs/rules/replay/provenance.ts'
import { replayScore } from '../../jobs/rules/replay/replay-score.ts'
import { findSubmissionFault } from '../../jobs/rules/replay/submission.ts'
import type { Submission, SubmittedTrace } from '../../jobs/rules/replay/submission.ts'
import { toTraceRowInSteps } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { unknownManifest } from '../../jobs/rules/traces/trace-warning.ts'
import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../core/db.ts'
import { upsertScores } from '../evals/eval-scores.ts'
import type { Charge } from '../org/usage.ts'
import { findRun } from '../replay/compared-runs.ts'
import type { RecordedRun } from '../replay/compared-runs.ts'
import { endTask, lockTask, retryTask } from '../replay/submitted-tasks.ts'
import type { LockedTask, TaskResult } from '../replay/submitted-tasks.ts'
import { lockStoredTraces } from '../traces/trace-updates.ts'
import type { TraceKey } from '../traces/traces.ts'
import { compareReplay } from './compare-replay.ts'
import { markStored, SAME_TRACE } from './mark-replay.ts'
import type { MarkFault } from './mark-replay.ts'
import { finishTraces } from './revise-trace.ts'
import { chargeTraces, insertTied } from './store-traces.ts'

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
  /** The project has a trace of the id of the one submitted, which has ended. */
  | { readonly kind: 'trace_exists'; readonly trace_id: string }
  /** The month's quota does not hold the trace; the lease goes on. */
  | { readonly kind: 'over_quota'; readonly limit: number; readonly left: number }

/** Whose task it is and what a trace is charged to. */
export type SubmitCharge = Pick<Charge, 'orgId' | 'quotas' | 'at'>

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
  const { task } = work
  const scores = eval_score === null ? [] : [replayScore(task.task_id, eval_score, eval_verdict)]
  const origin = originOf(task, original)
  if (trace) return storeReplay(work, { ...trace, scores: [...trace.scores, ...scores] }, origin)
  const taken = { trace_id: replayed_trace_id, isNew: false, warnings: [] }
  if (replayed_trace_id === null) return taken
  const key = { ...originalKey(task), trace_id: replayed_trace_id }
  return (await markStored(work.tx, work.queue, key, { origin, scores })) ?? taken
}

/** Stores the run as POST /traces stores a trace, or finishes it. */
async function storeReplay(
  work: Work,
  { trace, scores, warnings }: SubmittedTrace,
  origin: ReplayOrigin,
): Promise<TakenReplay | SubmitOutcome> {
  const { tx, queue, task } = work
  const { org_id, project_id, agent_name } = task
  if (trace.agent_name !== '' && trace.agent_name !== agent_name) {
    return { kind: 'invalid', message: `The replay must be a run of the agent ${agent_name}` }
  }
  const trace_id = trace.trace_id || randomUUIDv7()
  // Also one that is gone: it would be its own original.
  if (trace_id === task.trace_id) return { kind: 'invalid', message: SAME_TRACE }
  const named = { ...trace, trace_id, agent_name }
  const marked = markReplay(await toTraceRowInSteps(named, () => setImmediate()), origin)
  const row = { ...marked, org_id, project_id }
  const [inserted] = await insertTied(tx, [row])
  const written = inserted ?? (await finishRun(work, row))
  if (!written) return { kind: 'trace_exists', trace_id }
  const ofTrace = scores.map((score) => ({ ...score, trace_id }))
  await upsertScores(tx, org_id, project_id, ofTrace)
  // It is judged before it is compared, so that here is what follows when a job judges.
  if (inserted) await enqueueTraces(queue, tx, detectViolations, org_id, project_id, [trace_id])
  const isTied = marked.manifest_id === null || marked.manifest_id === written.manifest_id
  const untied = isTied ? [] : [unknownManifest(marked.manifest_id ?? '')]
  return { trace_id, isNew: inserted !== undefined, warnings: [...untied, ...warnings] }
}

/**
 * Finishes the run that is stored as running, as POST /traces does; undefined where none is. It locks the
 * original too, in the order in which all lock traces.
 */
async function finishRun({ tx, queue, task }: Work, row: TraceRow & TraceKey) {
  await lockStoredTraces(tx, [row, originalKey(task)])
  const finished = await finishTraces(tx, queue, [row])
  return finished.get(row)
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

interface TakenReplay {
  /** Null where only a score was submitted. */
  readonly trace_id: string | null
  /** It was stored by this submission, not only finished, and counts. */
  readonly isNew: boolean
  readonly warnings: readonly TraceWarning[]
}
