import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { judgeTraces } from '../../sql/judgements.ts'
import type { ApiContext } from '../context.ts'

/** Judges traces of a project in the caller's transaction; returns the ids of those that were judged. */
export async function judgeNow(
  { queue }: ApiContext,
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const { judged, copies, changed } = await judgeTraces(tx, orgId, projectId, traceIds)
  await requestJudgement(queue, tx, orgId, projectId, copies)
  if (changed) await requestAggregation(queue, tx, orgId, projectId)
  return judged
}
