import type { Queryable } from '../core/db.ts'
import { countUpTo } from '../core/pages.ts'
import { ofManifest } from '../traces/traces.ts'
import { ofAgent } from './manifests.ts'
import type { AgentKey } from './manifests.ts'

/** `created`: active since its registration. `activated`: a draft before. `reactivated`: superseded before. */
export type ActivationKind = 'created' | 'activated' | 'reactivated'

/** The latest change of an agent's active version. */
export interface TransitionRow {
  manifest_id: string
  previous_manifest_id: string
  activated_at: Date
}

export interface NewActivation {
  readonly manifestId: string
  /** The version that was active; null for none. */
  readonly previousId: string | null
  readonly kind: ActivationKind
  /** The id of the API key; null for a worker. */
  readonly createdBy: string | null
}

export async function findLatestTransition(sql: Queryable, agent: AgentKey) {
  const [row] = await sql<TransitionRow[]>`
    select manifest_id, previous_manifest_id, activated_at from manifest_activations
    where ${ofAgent(sql, agent)} and previous_manifest_id is not null
    order by ordinal desc limit 1`
  return row
}

/** The caller has locked the agent. */
export async function insertActivation(
  sql: Queryable,
  agent: AgentKey,
  { manifestId, previousId, kind, createdBy }: NewActivation,
) {
  await sql`
    insert into manifest_activations (org_id, project_id, agent_name, ordinal, manifest_id,
      previous_manifest_id, kind, created_by)
    select ${agent.orgId}, ${agent.projectId}, ${agent.agentName}, coalesce(max(ordinal), 0) + 1,
      ${manifestId}, ${previousId}::uuid, ${kind}, ${createdBy}::uuid
    from manifest_activations
    where ${ofAgent(sql, agent)}`
}

/**
 * Counts the traces of a version that used any of this, as far as their columns show, and stops at
 * `MAX_COUNTED`.
 */
export async function countTracesUsing(
  sql: Queryable,
  agent: AgentKey,
  manifestId: string,
  used: {
    readonly tools: readonly string[]
    readonly skills: readonly string[]
    /** True counts every trace with an LLM call. */
    readonly anyCall: boolean
    readonly since: Date
  },
) {
  return countUpTo(
    sql,
    MAX_COUNTED,
    sql`traces t
      where ${ofAgent(sql, agent)} and ${ofManifest(sql, agent.orgId, manifestId)}
        and started_at >= ${used.since}
        and (tools_called && ${used.tools}::text[]
          or skills_loaded_by_agent && ${used.skills}::text[]
          or ${used.anyCall}::boolean and llm_call_count > 0)`,
  )
}

const MAX_COUNTED = 10_000
