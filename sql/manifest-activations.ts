import { randomUUIDv7 } from 'node:crypto'
import { analyzeCompatibility } from '../jobs/analyze-compatibility.ts'
import type { Job } from '../jobs/job.ts'
import type { Queue } from '../jobs/queue.ts'
import { retargetVerdicts } from '../jobs/retarget-verdicts.ts'
import { diffManifests } from '../jobs/rules/manifest-diff.ts'
import type { SurfaceChange } from '../jobs/rules/surface-change.ts'
import { insertReport } from './compat-reports.ts'
import type { Queryable, Transaction } from './db.ts'
import { emitEvent } from './deliveries.ts'
import { insertJob } from './jobs.ts'
import {
  findActiveManifest,
  listStoredManifests,
  setManifestStatus,
  versionLabel,
} from './manifests.ts'
import type { AgentKey, ManifestRow } from './manifests.ts'

/** On whose behalf and when a version becomes active. */
export interface Occasion {
  readonly queue: Queue
  /** The API key; null for a worker. */
  readonly createdBy: string | null
  readonly now: Date
}

/** The latest time that another version of an agent became the active one. */
export interface TransitionRow {
  manifest_id: string
  previous_manifest_id: string
  activated_at: Date
}

/**
 * Makes a version the active one of its agent, which the caller has locked: the one that was active is
 * superseded, `manifest.changed` is sent for a version that was never active before, the traces of the
 * one before are analysed, and verdicts are decided anew. Returns the id of the analysis' report, null
 * where there was no version before.
 */
export async function activateManifest(
  tx: Transaction,
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
  if (isNew) await announce(tx, agent, manifest, previous, occasion)
  await startRetargeting(tx, agent, manifest.id, occasion)
  return previous ? startAnalysis(tx, agent, previous.id, manifest.id, occasion) : null
}

export async function findLatestTransition(sql: Queryable, agent: AgentKey) {
  const [row] = await sql<TransitionRow[]>`
    select manifest_id, previous_manifest_id, activated_at from manifest_activations
    where org_id = ${agent.orgId} and project_id = ${agent.projectId}
      and agent_name = ${agent.agentName} and previous_manifest_id is not null
    order by ordinal desc limit 1`
  return row
}

async function wasActive(tx: Transaction, agent: AgentKey, manifestId: string) {
  const rows = await tx`
    select 1 from manifest_activations
    where org_id = ${agent.orgId} and project_id = ${agent.projectId}
      and agent_name = ${agent.agentName} and manifest_id = ${manifestId} limit 1`
  return rows.length > 0
}

async function insertActivation(
  tx: Transaction,
  agent: AgentKey,
  manifestId: string,
  previousId: string | null,
  isNew: boolean,
) {
  await tx`
    insert into manifest_activations (org_id, project_id, agent_name, ordinal, manifest_id,
      previous_manifest_id, kind)
    select ${agent.orgId}, ${agent.projectId}, ${agent.agentName}, coalesce(max(ordinal), 0) + 1,
      ${manifestId}, ${previousId}::uuid, ${isNew ? 'created' : 'reactivated'}
    from manifest_activations
    where org_id = ${agent.orgId} and project_id = ${agent.projectId}
      and agent_name = ${agent.agentName}`
}

async function announce(
  tx: Transaction,
  agent: AgentKey,
  manifest: ManifestRow,
  previous: ManifestRow | undefined,
  { queue, now }: Occasion,
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

async function startRetargeting(
  tx: Transaction,
  { orgId, projectId, agentName }: AgentKey,
  manifestId: string,
  occasion: Occasion,
) {
  const payload = { project_id: projectId, agent_name: agentName, manifest_id: manifestId }
  await startJob(tx, occasion, retargetVerdicts, payload, { orgId, projectId, id: randomUUIDv7() })
}

async function startAnalysis(
  tx: Transaction,
  { orgId, projectId, agentName }: AgentKey,
  oldId: string,
  newId: string,
  occasion: Occasion,
) {
  const report = {
    id: randomUUIDv7(),
    project_id: projectId,
    agent_name: agentName,
    old_manifest_id: oldId,
    new_manifest_id: newId,
    job_id: randomUUIDv7(),
    trace_window_days: WINDOW_DAYS,
  }
  const resultRef = `/manifests/${newId}/compatibility/${report.id}`
  const job = { orgId, projectId, id: report.job_id, resultRef }
  await startJob(tx, occasion, analyzeCompatibility, { report_id: report.id }, job)
  await insertReport(tx, orgId, report, occasion.now)
  return report.id
}

/** A job resource of work that nobody asked for by a request of its own. */
async function startJob<T extends object>(
  tx: Transaction,
  { queue, createdBy }: Occasion,
  job: Job<T>,
  payload: T,
  {
    orgId,
    projectId,
    id,
    resultRef,
  }: { orgId: string; projectId: string; id: string; resultRef?: string },
) {
  const queued = await queue.enqueue(tx, job, payload, { orgId, jobId: id, key: id })
  await insertJob(tx, {
    id,
    org_id: orgId,
    project_id: projectId,
    kind: job.name,
    queue_job_id: queued as string,
    request: payload,
    result_ref: resultRef ?? null,
    created_by: createdBy,
  })
}

/**
 * Traces of the old version in the window that used something that has changed, as far as their columns
 * tell, counted no further than `MAX_COUNTED`.
 */
async function countAffected(
  tx: Transaction,
  agent: AgentKey,
  oldId: string,
  newId: string,
  now: Date,
) {
  const stored = await listStoredManifests(tx, agent.orgId, [oldId, newId])
  const [before, after] = [oldId, newId].map((id) => stored.find((each) => each.id === id))
  if (!before || !after) return 0
  const changes = diffManifests(before, after).filter(
    ({ state }) => state !== 'doc_only' && state !== 'added',
  )
  const named = (type: SurfaceChange['component_type']) =>
    changes.filter((c) => c.component_type === type).map((c) => c.component_name)
  const whole = changes.some(({ component_type }) => OF_EVERY_CALL.has(component_type))
  const [row] = await tx<{ n: number }[]>`
    select count(*)::int as n from (
      select 1 from traces
      where org_id = ${agent.orgId} and project_id = ${agent.projectId}
        and agent_name = ${agent.agentName} and manifest_id = ${oldId}
        and started_at >= ${new Date(now.getTime() - WINDOW_DAYS * 86_400_000)}
        and (tools_called && ${named('tool')}::text[]
          or skills_loaded_by_agent && ${named('skill')}::text[]
          or ${whole}::boolean and llm_call_count > 0)
      limit ${MAX_COUNTED}) as affected`
  return row?.n ?? 0
}

/** Changes of these are used by every LLM call. */
const OF_EVERY_CALL = new Set(['model', 'prompt', 'output_contract'])
/** Days of traffic that tell what a change affects. */
const WINDOW_DAYS = 30
const MAX_COUNTED = 10_000
