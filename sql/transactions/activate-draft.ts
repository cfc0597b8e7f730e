import * as jobs from '../../jobs/activate-draft.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { listUsedDrafts } from '../manifests/manifest-links.ts'
import { findManifest, lockAgent } from '../manifests/manifests.ts'
import { activateManifest } from './activate-manifest.ts'
import type { Occasion } from './start-analysis.ts'

/**
 * Enqueues the activation of the drafts that these traces show to be running in production. The
 * activation is a job because it locks the agent, for which the storing of traces must not wait.
 */
export async function activateUsedDrafts(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  await activateDrafts(tx, queue, orgId, await listUsedDrafts(tx, orgId, projectId, traceIds))
}

/**
 * Enqueues their activation.
 * @param drafts in one order for everybody: enqueueing waits for others that have enqueued the same ones
 */
export async function activateDrafts(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  drafts: readonly { readonly id: string }[],
) {
  for (const { id } of drafts) {
    await queue.enqueue(tx, jobs.activateDraft, { manifest_id: id }, { orgId, key: id })
  }
}

/**
 * Makes a draft the active version of its agent. What is no draft any more stays as it is, and one that
 * was held meanwhile is activated only on behalf of a person.
 */
export async function activateDraft(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  manifestId: string,
  occasion: Occasion,
) {
  const found = await findManifest(tx, orgId, manifestId)
  if (!found) return
  const agent = { orgId, projectId: found.project_id, agentName: found.agent_name }
  await lockAgent(tx, agent)
  const manifest = await findManifest(tx, orgId, manifestId)
  if (manifest?.status !== 'draft') return
  if (manifest.is_held && occasion.createdBy === null) return
  await activateManifest(tx, queue, { agent, manifest, kind: 'activated' }, occasion)
}
