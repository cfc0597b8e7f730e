import { onlyRow } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'
import { newestOfManifest } from '../traces/traces.ts'
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
 * Counts the traces that used any of this, as far as their columns show, among the newest `MAX_READ` of a
 * version in the window. Nothing is read where nothing can match.
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
  if (used.tools.length === 0 && used.skills.length === 0 && !used.anyCall) return 0
  const newest = newestOfManifest(
    sql,
    { orgId: agent.orgId, manifestId },
    {
      columns: sql`t.started_at, t.trace_id, t.tools_called, t.skills_loaded_by_agent, t.llm_call_count`,
      where: sql`${ofAgent(sql, agent)} and t.started_at >= ${used.since}`,
      limit: MAX_READ,
    },
  )
  const counted = await sql<{ n: number }[]>`
    select count(*)::int as n from ${newest} t
    where tools_called && ${used.tools}::text[]
      or skills_loaded_by_agent && ${used.skills}::text[]
      or ${used.anyCall}::boolean and llm_call_count > 0`
  return onlyRow(counted).n
}

const MAX_READ = 10_000
