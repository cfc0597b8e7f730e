import { policyHash } from '../../jobs/rules/evals/decision-policy.ts'
import type { Policy, PolicySettings } from '../../jobs/rules/evals/decision-policy.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, MAX_COUNTED } from '../core/pages.ts'

export interface PolicyRow extends Policy {
  content_hash: string
  created_by: string | null
  created_at: Date
}

/** The policies that hold now: the project's own ('') and those of single agents. */
export async function listCurrentPolicies(sql: Queryable, orgId: string, projectId: string) {
  return sql<PolicyRow[]>`
    select distinct on (agent_name) agent_name, version, settings, content_hash, created_by, created_at
    from decision_policies where org_id = ${orgId} and project_id = ${projectId}
    order by agent_name, version desc`
}

/** Newest first. @param agentName '' for the project's own */
export async function listPolicyVersions(
  sql: Queryable,
  orgId: string,
  projectId: string,
  agentName: string,
  { limit, offset }: { limit: number; offset: number },
) {
  const matching = sql`decision_policies
    where org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}`
  const [rows, total] = await Promise.all([
    sql<PolicyRow[]>`
      select agent_name, version, settings, content_hash, created_by, created_at from ${matching}
      order by version desc limit ${limit} offset ${offset}`,
    countUpTo(sql, MAX_COUNTED, matching),
  ])
  return { rows, total }
}

/**
 * Inserts settings as the newest version, unless they equal the current one. Call it in a transaction:
 * it locks the project's row, so that version numbers have no gap and none stands twice.
 */
export async function insertPolicyVersion(
  sql: Queryable,
  orgId: string,
  projectId: string,
  policy: { agent_name: string; settings: PolicySettings; created_by: string },
) {
  const hash = policyHash(policy.settings)
  await sql`
    select 1 from projects where org_id = ${orgId} and id = ${projectId} for no key update`
  const [row] = await sql<PolicyRow[]>`
    with newest as (
      select version, content_hash from decision_policies
      where org_id = ${orgId} and project_id = ${projectId} and agent_name = ${policy.agent_name}
      order by version desc limit 1
    )
    insert into decision_policies (org_id, project_id, agent_name, version, preset, settings,
      content_hash, created_by)
    select ${orgId}, ${projectId}, ${policy.agent_name}, coalesce((select version from newest), 0) + 1,
      ${policy.settings.preset}, ${jsonText(policy.settings)}::text::jsonb, ${hash}, ${policy.created_by}
    where not exists (select 1 from newest where content_hash = ${hash})
    returning agent_name, version, settings, content_hash, created_by, created_at`
  return row
}
