import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import type { Queue } from '../../jobs/queue.ts'
import { retargetVerdicts } from '../../jobs/retarget-verdicts.ts'
import { diffManifests } from '../../jobs/rules/manifests/manifest-diff.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import type { Transaction } from '../core/db.ts'
import { countTracesUsing, insertActivation, wasActive } from '../manifests/manifest-activations.ts'
import { findStoredPair } from '../manifests/manifest-components.ts'
import { findActiveManifest, setManifestStatus, versionLabel } from '../manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { emitEvent } from './emit-event.ts'
import { startAnalysis } from './start-analysis.ts'
import type { Occasion } from './start-analysis.ts'
import { submitJob } from './submit-job.ts'

/**
 * Makes a version the active one of its agent, which the caller has locked: the one that was active is
 * superseded, `manifest.changed` is sent for a version that was never active before, and jobs analyse
 * the traces of the previous version and decide verdicts again. Returns the id of the analysis' report,
 * or null when there was no previous version.
 */
export async function activateManifest(
  tx: Transaction,
  queue: Queue,
  agent: AgentKey,
  manifest: ManifestRow,
  occasion: Occasion,
): Promise<string | null> {
  const previous = await findActiveManifest(tx, agent)
  const isNew = !(await wasActive(tx, agent, manifest.id))
  if (previous) await setManifestStatus(tx, agent.orgId, previous.id, 'superseded')
  const parent = isNew ? [previous?.id ?? null] : []
  await setManifestStatus(tx, agent.orgId, manifest.id, 'active', ...parent)
  await insertActivation(tx, agent, manifest.id, previous?.id ?? null, isNew)
  if (isNew) await announce(tx, queue, agent, manifest, previous, occasion.now)
  await startRetargeting(tx, queue, agent, manifest.id, occasion)
  if (!previous) return null
  const analysis = { agent, oldId: previous.id, newId: manifest.id, windowDays: TRACE_WINDOW_DAYS }
  return (await startAnalysis(tx, queue, analysis, occasion)).id
}

async function announce(
  tx: Transaction,
  queue: Queue,
  agent: AgentKey,
  manifest: ManifestRow,
  previous: ManifestRow | undefined,
  now: Date,
) {
  const data = {
    agent_name: agent.agentName,
    version_label: versionLabel(manifest),
    previous_version_label: previous ? versionLabel(previous) : null,
    manifest_id: manifest.id,
    traces_affected: previous ? await countAffected(tx, agent, previous.id, manifest.id, now) : 0,
  }
  await emitEvent(tx, queue, agent.orgId, 'manifest.changed', data, now)
}

/** Counts the traces of the old version in the window that used something that has changed. */
async function countAffected(
  tx: Transaction,
  agent: AgentKey,
  oldId: string,
  newId: string,
  now: Date,
) {
  const { before, after } = await findStoredPair(tx, agent.orgId, oldId, newId)
  if (!before || !after) return 0
  const changes = diffManifests(before, after).filter(
    ({ state }) => state !== 'doc_only' && state !== 'added',
  )
  const named = (type: SurfaceChange['component_type']) =>
    changes.filter((c) => c.component_type === type).map((c) => c.component_name)
  return countTracesUsing(tx, agent, oldId, {
    tools: named('tool'),
    skills: named('skill'),
    anyCall: changes.some(({ component_type }) => USED_BY_EVERY_CALL.has(component_type)),
    since: new Date(now.getTime() - TRACE_WINDOW_DAYS * 86_400_000),
  })
}

async function startRetargeting(
  tx: Transaction,
  queue: Queue,
  { orgId, projectId, agentName }: AgentKey,
  manifestId: string,
  { createdBy, requestId }: Occasion,
) {
  const payload = { project_id: projectId, agent_name: agentName, manifest_id: manifestId }
  const submission = { orgId, projectId, createdBy, requestId }
  await submitJob(tx, queue, retargetVerdicts, payload, submission)
}

/** Every LLM call uses components of these types. */
const USED_BY_EVERY_CALL = new Set(['model', 'prompt', 'output_contract'])
