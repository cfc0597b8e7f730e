import type { Queue } from '../../jobs/queue.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import { diffManifests } from '../../jobs/rules/manifests/manifest-diff.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import type { Transaction } from '../core/db.ts'
import { countTracesUsing } from '../manifests/manifest-activations.ts'
import { findStoredPair } from '../manifests/manifest-components.ts'
import { versionLabel } from '../manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { emitEvent } from './emit-event.ts'

/** A version that was just registered. */
export interface NewVersion {
  readonly manifest: ManifestRow
  readonly status: 'draft' | 'active'
  /** Undefined for an agent's first version. */
  readonly parent: ManifestRow | undefined
}

/** Sends `manifest.changed`, once for each version. */
export async function announceManifest(
  tx: Transaction,
  queue: Queue,
  agent: AgentKey,
  { manifest, status, parent }: NewVersion,
  now: Date,
) {
  const data = {
    agent_name: agent.agentName,
    version_label: versionLabel(manifest),
    previous_version_label: parent ? versionLabel(parent) : null,
    manifest_id: manifest.id,
    status,
    traces_affected: parent ? await countAffected(tx, agent, parent.id, manifest.id, now) : 0,
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
    since: new Date(now.getTime() - TRACE_WINDOW_DAYS * DAY_MS),
  })
}

/** Every LLM call uses components of these types. */
const USED_BY_EVERY_CALL = new Set(['model', 'prompt', 'output_contract'])
