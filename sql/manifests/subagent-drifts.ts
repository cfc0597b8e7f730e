import type { Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'

/** A sub-agent that runs under another manifest than its orchestrator's manifest pins it to. */
export interface Drift {
  agent_name: string
  subagent_name: string
  /** `sha256:` and 64 digits, both. */
  expected_hash: string
  observed_hash: string
  /** The orchestrator's. */
  manifest_id: string
  trace_sample_ids: string[]
}

/** `sha256:` hashes of the manifests that are active now, by agent name. */
export async function findActiveHashes(
  tx: Transaction,
  orgId: string,
  projectId: string,
  agentNames: readonly string[],
) {
  const rows = await tx<{ agent_name: string; manifest_hash: string }[]>`
    select agent_name, manifest_hash from manifests
    where org_id = ${orgId} and project_id = ${projectId} and status = 'active'
      and agent_name = any(${agentNames}::text[])`
  return new Map(rows.map(({ agent_name, manifest_hash }) => [agent_name, manifest_hash]))
}

/** Stores drifts and returns the new ones: each pair counts once for each manifest it was seen under. */
export async function insertDrifts(
  tx: Transaction,
  orgId: string,
  projectId: string,
  drifts: readonly Drift[],
) {
  return tx<Drift[]>`
    insert into subagent_drifts (org_id, project_id, agent_name, subagent_name, observed_hash,
      expected_hash, manifest_id, trace_sample_ids)
    select ${orgId}, ${projectId}, agent_name, subagent_name, observed_hash, expected_hash,
      manifest_id, trace_sample_ids
    from json_populate_recordset(null::subagent_drifts, ${jsonText(drifts)}::text::json)
    order by agent_name, subagent_name
    on conflict do nothing
    returning agent_name, subagent_name, observed_hash, expected_hash, manifest_id, trace_sample_ids`
}
