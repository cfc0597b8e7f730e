import { randomUUIDv7 } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Checkpoint } from '../../jobs/job.ts'
import { prepareReplay } from '../../jobs/prepare-replay.ts'
import { judgeReplayability } from '../../jobs/rules/replay/replayability.ts'
import type { Judged } from '../../jobs/rules/replay/replayability.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import {
  listChosenTraces,
  listRecordedTraces,
  openRecorded,
} from '../../sql/replay/recorded-traces.ts'
import type { ChosenTrace } from '../../sql/replay/recorded-traces.ts'
import { findBatchToPrepare, holdBatch, setPrepared } from '../../sql/replay/replay-batches.ts'
import type { UnpreparedBatch } from '../../sql/replay/replay-batches.ts'
import { insertTasks } from '../../sql/replay/replay-tasks.ts'
import { startDispatch } from '../../sql/transactions/start-dispatch.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { CONTINUE, handler } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'

/**
 * Opens the traces of a batch a few at a time. One transaction stores their tasks and the checkpoint, so
 * that the next run goes on behind the last one. Ends early when the batch is canceled.
 * @param sliceMs after which others have their turn
 */
export function makePrepareHandler({ sliceMs }: { sliceMs: number }) {
  return handler(prepareReplay, async ({ batch_id }, run) => {
    const batch = await findBatchToPrepare(run.sql, run.orgId, batch_id)
    if (!batch) throw new GiveUp('batch_gone', 'The replay batch has been deleted')
    const until = run.now().getTime() + sliceMs
    let done: Cursor = run.checkpointed ?? { made: 0 }
    const chosen = await listChosen(run, batch, done)
    const total = done.made + chosen.length
    for await (const traces of contentBatches([chosen], PAGE)) {
      run.signal.throwIfAborted()
      const next = await makeTasks(run, { batch, batchId: batch_id, traces, done, total })
      if (!next) return { batch_id, total: done.made }
      done = next
      if (run.now().getTime() >= until && done.made < total) return CONTINUE
    }
    await endPreparation(run, batch_id, batch)
    return { batch_id, total }
  })
}

export const prepareReplayHandler = makePrepareHandler({ sliceMs: 120_000 })

/** In one read, so that what comes in meanwhile changes nothing; it has no contents. */
async function listChosen(run: ResumableRun<Cursor>, batch: UnpreparedBatch, done: Cursor) {
  return run.sql.begin('read only', async (tx: Transaction) => {
    await tx`set local statement_timeout = ${tx.unsafe(String(STATEMENT_TIMEOUT_MS))}`
    return listChosenTraces(tx, run.orgId, batch, { made: done.made, after: done.after })
  })
}

/** From now on tasks are given out, or sent to the runner. */
async function endPreparation(
  { sql, queue, orgId }: ResumableRun<Cursor>,
  batchId: string,
  { mode, project_id: projectId, created_by: createdBy }: UnpreparedBatch,
) {
  await queue.transaction(sql, async (tx: Transaction) => {
    if (!(await holdBatch(tx, orgId, batchId))) return
    await setPrepared(tx, orgId, batchId)
    if (mode === 'push') await startDispatch(tx, queue, { orgId, projectId, batchId, createdBy })
  })
}

/** Returns undefined when the batch takes no more tasks. */
async function makeTasks(
  run: ResumableRun<Cursor>,
  { batch, batchId, traces, done, total }: Page,
): Promise<Cursor | undefined> {
  const judged = await judgeTraces(run, batch.project_id, traces)
  const tasks = traces.map(({ trace_id, is_other }, i) => {
    const { replayability, reason } = judged.get(trace_id) ?? GONE
    const skipped = reason ?? (is_other ? 'other_manifest' : null)
    const ordinal = done.made + i
    return { id: randomUUIDv7(), ordinal, trace_id, replayability, reason: skipped }
  })
  const after = traces.findLast(({ started_at }) => started_at !== null)
  const next: Cursor = {
    made: done.made + traces.length,
    after: after?.started_at
      ? { started_at: after.started_at, trace_id: after.trace_id }
      : done.after,
  }
  const isMade = await run.queue.transaction(run.sql, async (tx: Transaction) => {
    if (!(await holdBatch(tx, run.orgId, batchId))) return false
    await insertTasks(tx, run.orgId, batchId, tasks)
    await run.checkpoint(tx, { done: next.made, total, unit: 'traces' }, next)
    return true
  })
  return isMade ? next : undefined
}

/** Those that are gone are missing. A content that was damaged costs only its own task. */
async function judgeTraces(
  { sql, orgId }: ResumableRun<Cursor>,
  project_id: string,
  traces: readonly ChosenTrace[],
) {
  const names = traces.map(({ trace_id }) => ({ project_id, trace_id }))
  const judged = new Map<string, Judged>()
  for (const row of await listRecordedTraces(sql, orgId, names)) {
    const trace = await openRecorded(row, setImmediate)
    judged.set(row.trace_id, trace ? judgeReplayability(trace) : UNREADABLE)
    await setImmediate()
  }
  return judged
}

/** The bytes are compressed, about a quarter of the content. */
const PAGE = { traces: 200, bytes: 1 << 20 }
/** The newest of millions come only when all that pass are found. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000
const GONE: Judged = { replayability: 'none', reason: 'trace_gone' }
const UNREADABLE: Judged = { replayability: 'none', reason: 'trace_unreadable' }

type Cursor = Checkpoint<typeof prepareReplay>
interface Page {
  readonly batch: UnpreparedBatch
  readonly batchId: string
  readonly traces: readonly ChosenTrace[]
  readonly done: Cursor
  readonly total: number
}
