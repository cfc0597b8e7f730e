import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import type { Queue } from '../../jobs/queue.ts'
import { retargetVerdicts } from '../../jobs/retarget-verdicts.ts'
import type { Transaction } from '../core/db.ts'
import { noteStaleness } from '../datasets/staleness-events.ts'
import { insertActivation } from '../manifests/manifest-activations.ts'
import type { ActivationKind } from '../manifests/manifest-activations.ts'
import { findActiveManifest, setManifestStatus } from '../manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { startAnalysis } from './start-analysis.ts'
import type { Occasion } from './start-analysis.ts'
import { submitJob } from './submit-job.ts'

/** A version that is to be the active one of its agent, which the caller has locked. */
export interface Activation {
  readonly agent: AgentKey
  readonly manifest: ManifestRow
  readonly kind: ActivationKind
}

/**
 * Makes a version the active one: the one that was active is superseded, jobs analyse the traces of that
 * one and decide verdicts again, and the changelog says which datasets with traces of it are stale. Returns
 * the id of the analysis' report, or null when no version was active.
 */
export async function activateManifest(
  tx: Transaction,
  queue: Queue,
  { agent, manifest, kind }: Activation,
  occasion: Occasion,
): Promise<string | null> {
  const previous = await findActiveManifest(tx, agent)
  if (previous) await setManifestStatus(tx, agent.orgId, previous.id, 'superseded')
  await setManifestStatus(tx, agent.orgId, manifest.id, 'active')
  await insertActivation(tx, agent, {
    manifestId: manifest.id,
    previousId: previous?.id ?? null,
    kind,
    createdBy: occasion.createdBy,
  })
  await startRetargeting(tx, queue, agent, manifest.id, occasion)
  if (!previous) return null
  await noteStaleness(tx, {
    orgId: agent.orgId,
    projectId: agent.projectId,
    manifestId: manifest.id,
    previousId: previous.id,
    createdBy: occasion.createdBy,
  })
  const analysis = { agent, oldId: previous.id, newId: manifest.id, windowDays: TRACE_WINDOW_DAYS }
  return (await startAnalysis(tx, queue, analysis, occasion)).id
}

/** Has traces of an agent decided anew against the manifest that is its active one now. */
export async function startRetargeting(
  tx: Transaction,
  queue: Queue,
  { orgId, projectId, agentName }: AgentKey,
  manifestId: string,
  { createdBy, requestId }: Pick<Occasion, 'createdBy' | 'requestId'>,
) {
  const payload = { project_id: projectId, agent_name: agentName, manifest_id: manifestId }
  const submission = { orgId, projectId, createdBy, requestId }
  await submitJob(tx, queue, retargetVerdicts, payload, submission)
}
