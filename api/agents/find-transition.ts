import { findLatestTransition } from '../../sql/manifest-activations.ts'
import { findActiveManifest, findManifest } from '../../sql/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests.ts'
import type { ApiContext } from '../context.ts'
import { badRequest, notFound } from '../errors.ts'

export interface Transition {
  readonly before: ManifestRow
  readonly after: ManifestRow
}

/**
 * The transition meant: to the manifest named, from the baseline named; else to the active one and
 * from the one before; with neither named the latest one. Undefined when there is nothing before.
 * @throws ApiError 404 for a manifest the agent does not have, 400 for one compared with itself
 */
export async function findTransition(
  context: ApiContext,
  agent: AgentKey,
  manifestId?: string,
  baselineId?: string,
): Promise<Transition | undefined> {
  if (manifestId === undefined && baselineId === undefined) return findLatest(context, agent)
  const after = manifestId
    ? await findOfAgent(context, agent, manifestId)
    : await findActiveManifest(context.sql, agent)
  const from = baselineId ?? after?.parent_manifest_id
  if (!after || !from) return undefined
  const before = await findOfAgent(context, agent, from)
  if (before.id === after.id) throw badRequest('A manifest cannot be compared with itself')
  return { before, after }
}

async function findLatest(context: ApiContext, agent: AgentKey) {
  const latest = await findLatestTransition(context.sql, agent)
  if (!latest) return undefined
  const [before, after] = await Promise.all([
    findOfAgent(context, agent, latest.previous_manifest_id),
    findOfAgent(context, agent, latest.manifest_id),
  ])
  return { before, after }
}

async function findOfAgent({ sql }: ApiContext, agent: AgentKey, id: string) {
  const manifest = await findManifest(sql, agent.orgId, id)
  const isOurs = manifest?.project_id === agent.projectId && manifest.agent_name === agent.agentName
  if (!manifest || !isOurs) throw notFound('Manifest')
  return manifest
}
