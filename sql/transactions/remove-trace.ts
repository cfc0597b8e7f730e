import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { noteDeletion } from '../datasets/deleted-traces.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { listCopies } from '../evals/judgements.ts'
import { lockStoredTraces } from '../traces/trace-updates.ts'
import { deleteTrace } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

/**
 * Deletes a trace with all that was found of it, and has those judged anew that have the same conversation.
 * False when it is not there.
 */
export async function removeTrace(tx: Transaction, queue: Queue, trace: TraceKey) {
  const { org_id: orgId, project_id: projectId, trace_id: traceId } = trace
  const [locked] = await lockStoredTraces(tx, [trace])
  if (!locked) return false
  const copies = await listCopies(tx, trace)
  await markCellsDirty(tx, orgId, projectId, [traceId])
  await noteDeletion(tx, trace)
  await deleteTrace(tx, trace)
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, copies)
  await requestAggregation(queue, tx, orgId, projectId)
  return true
}
