import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { JUDGE_BATCH, judgeTraces } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { upsertScores } from '../../sql/eval-scores.ts'
import type { TraceScore } from '../../sql/eval-scores.ts'
import { markCellsDirty } from '../../sql/score-cells.ts'
import type { ApiContext } from '../context.ts'
import type { Principal } from '../principal.ts'
import { submitJob } from '../submit.ts'

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
  for (let at = 0; at < traceIds.length; at += JUDGE_BATCH) {
    const payload = { project_id: projectId, trace_ids: traceIds.slice(at, at + JUDGE_BATCH) }
    jobIds.push(await submitJob(context, tx, principal, judgeTraces, payload, { projectId }))
  }
  await requestAggregation(context.queue, tx, orgId, projectId)
  return jobIds
}
