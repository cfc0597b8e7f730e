import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { detectViolations } from '../../jobs/detect-violations.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { linkTraces } from '../../jobs/link-traces.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { linkNamedTraces, tieTraces } from '../manifests/manifest-links.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { activateUsedDrafts } from './activate-draft.ts'

/**
 * Links a manifest to up to `limit` traces that named its hash before it was registered, and enqueues
 * what follows from it. The rest is left to another job.
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
  await enqueueTraces(queue, tx, detectViolations, orgId, projectId, linked)
  await followLinks(tx, queue, orgId, projectId, linked)
  if (linked.length < limit) return
  await queue.enqueue(tx, linkTraces, { manifest_id: manifest.id }, { orgId, key: manifest.id })
}

/**
 * Ties those of these traces that are not tied: processes of an earlier release stored them, or they were
 * revised while their manifest was being registered.
 */
export async function tieStoredTraces(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const keys = traceIds.map((trace_id) => ({ org_id: orgId, project_id: projectId, trace_id }))
  const tied = await tieTraces(tx, keys)
  const ids = tied.map(({ trace_id }) => trace_id)
  await followLinks(tx, queue, orgId, projectId, ids)
}

/**
 * Enqueues jobs that judge linked traces, activate a draft that they show in use, and aggregate their
 * scores under their manifest.
 */
async function followLinks(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  linked: readonly string[],
) {
  if (linked.length === 0) return
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, linked)
  await markCellsDirty(tx, orgId, projectId, linked)
  await requestAggregation(queue, tx, orgId, projectId)
  // Behind the aggregation, as where traces are revised: of two jobs asked for, one waits for the other's.
  await activateUsedDrafts(tx, queue, orgId, projectId, linked)
}
