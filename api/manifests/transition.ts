import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import { findLatestTransition } from '../../sql/manifests/manifest-activations.ts'
import { findActiveManifest, findManifest } from '../../sql/manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests/manifests.ts'
import { findUsualReport } from '../../sql/manifests/compat-reports.ts'
import type { ApiContext } from '../context.ts'
import { badRequest, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { admitAnalysis } from './admit-analysis.ts'

export interface Transition {
  readonly before: ManifestRow
  readonly after: ManifestRow
}

/**
 * The transition from a baseline to a manifest. Without a manifest it leads to the active one, without a
 * baseline it starts at the manifest's parent, and without either it is the latest transition. Undefined
 * when the manifest has no parent.
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

/**
 * The newest analysis of a transition over the usual window, complete or in progress, which the
 * activation usually started; else a new one.
 * @param again start a new one in any case
 */
export async function findAnalysis(
  context: ApiContext,
  principal: Principal,
  { before, after }: Transition,
  again = false,
) {
  const known = again
    ? undefined
    : await findUsualReport(context.sql, principal.orgId, before.id, after.id)
  return known ?? admitAnalysis(context, principal, before, after, TRACE_WINDOW_DAYS)
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
