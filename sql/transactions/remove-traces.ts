import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { noteDeletions } from '../datasets/deleted-traces.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { listHeirs } from '../evals/judgements.ts'
import type { TraceFilter } from '../traces/trace-filter.ts'
import { lockMatches } from '../traces/trace-walks.ts'
import { deleteTraces } from '../traces/traces.ts'

/**
 * Deletes traces of a project with all that was found of them, and has those judged anew that have the same
 * conversations. Another transaction that requests the aggregation of the project waits for the end of this
 * one, so call it late.
 * @param traceIds some hundreds at most, or others wait for long
 * @param filter that the traces have to fulfil still
 * @returns how many were deleted
 */
export async function removeTraces(
  tx: Transaction,
  queue: Queue,
  { orgId, projectId }: { readonly orgId: string; readonly projectId: string },
  traceIds: readonly string[],
  filter: TraceFilter = { projectIds: [projectId] },
): Promise<number> {
  const locked = await lockMatches(tx, orgId, projectId, traceIds, filter)
  if (locked.length === 0) return 0
  const heirs = await listHeirs(tx, orgId, projectId, locked)
  await markCellsDirty(tx, orgId, projectId, locked)
  await noteDeletions(tx, orgId, projectId, locked)
  await deleteTraces(tx, orgId, projectId, locked)
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, heirs)
  await requestAggregation(queue, tx, orgId, projectId)
  return locked.length
}
