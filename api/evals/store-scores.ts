import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { traceBatches } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { upsertScores } from '../../sql/evals/eval-scores.ts'
import type { TraceScore } from '../../sql/evals/eval-scores.ts'
import { markCellsDirty } from '../../sql/evals/cell-marks.ts'
import type { ApiContext } from '../context.ts'
import type { Principal } from '../principal.ts'
import { admitJob } from '../admit-job.ts'

/**
 * Stores scores of traces of one project and has those traces judged anew.
 * @returns the ids of the jobs that judge them
 */
export async function storeScores(
  context: ApiContext,
  tx: Transaction,
  principal: Principal,
  projectId: string,
  scores: readonly TraceScore[],
) {
  const { orgId } = principal
  await upsertScores(tx, orgId, projectId, scores)
  const traceIds = [...new Set(scores.map(({ trace_id }) => trace_id))]
  await markCellsDirty(tx, orgId, projectId, traceIds)
  const jobIds = []
  for (const trace_ids of traceBatches(traceIds)) {
    const payload = { project_id: projectId, trace_ids }
    jobIds.push(await admitJob(context, tx, principal, judgeTraces, payload, { projectId }))
  }
  await requestAggregation(context.queue, tx, orgId, projectId)
  return jobIds
}
