import { analyzeCompatibility } from '../../jobs/analyze-compatibility.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { ManifestRow } from '../../sql/manifests/manifests.ts'
import { startAnalysis } from '../../sql/transactions/start-analysis.ts'
import type { ApiContext } from '../context.ts'
import type { Principal } from '../principal.ts'
import { requireJobRoom } from '../admit-job.ts'

/**
 * Starts an analysis of two manifests of one agent for a client.
 * @throws ApiError 429 when as many analyses wait as the plan allows
 */
export async function admitAnalysis(
  context: ApiContext,
  principal: Principal,
  before: ManifestRow,
  after: ManifestRow,
  windowDays: number,
) {
  const { queue, requestId } = context
  const { orgId, keyId: createdBy } = principal
  const agent = { orgId, projectId: after.project_id, agentName: after.agent_name }
  const analysis = { agent, oldId: before.id, newId: after.id, windowDays }
  return queue.transaction(context.sql, async (tx: Transaction) => {
    await requireJobRoom(context, tx, principal, analyzeCompatibility.name)
    return startAnalysis(tx, queue, analysis, { createdBy, requestId, now: context.now() })
  })
}
