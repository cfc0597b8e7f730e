import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { detectViolations } from '../../jobs/detect-violations.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { linkTraces } from '../../jobs/link-traces.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { markCellsDirty } from '../evals/score-cells.ts'
import { linkNamedTraces } from '../manifests/manifest-links.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { activateUsedDrafts } from './activate-draft.ts'

/**
 * Links a manifest to up to `limit` traces that named its hash before it was registered, and enqueues
 * jobs that judge them, search them for violations, aggregate their scores under the manifest and activate
 * a draft that they show in use. The rest
 * is left to another job.
 */
export async function linkEarlierTraces(
  tx: Transaction,
  queue: Queue,
  agent: AgentKey,
  manifest: ManifestRow,
  limit: number,
) {
  const { orgId, projectId } = agent
  const linked = await linkNamedTraces(tx, agent, manifest, limit)
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, linked)
  await enqueueTraces(queue, tx, detectViolations, orgId, projectId, linked)
  await activateUsedDrafts(tx, queue, orgId, projectId, linked)
  await markCellsDirty(tx, orgId, projectId, linked)
  if (linked.length > 0) await requestAggregation(queue, tx, orgId, projectId)
  if (linked.length < limit) return
  await queue.enqueue(tx, linkTraces, { manifest_id: manifest.id }, { orgId, key: manifest.id })
}
