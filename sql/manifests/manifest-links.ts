import type { Queryable } from '../core/db.ts'
import { ofAgent } from './manifests.ts'
import type { AgentKey, ManifestRow } from './manifests.ts'

/**
 * Links up to `limit` traces of the agent that named the manifest's hash before it was registered, and
 * returns their ids. The caller has locked the agent, or runs after the registration.
 */
export async function linkNamedTraces(
  sql: Queryable,
  agent: AgentKey,
  manifest: Pick<ManifestRow, 'id' | 'manifest_hash'>,
  limit: number,
) {
  const rows = await sql<{ trace_id: string }[]>`
    update traces t set manifest_id = ${manifest.id}
    from (
      select trace_id from traces
      where ${ofAgent(sql, agent)} and manifest_id is null
        and manifest_hash = ${manifest.manifest_hash.slice('sha256:'.length)}
      order by trace_id limit ${limit} for update) named
    where t.org_id = ${agent.orgId} and t.project_id = ${agent.projectId}
      and t.trace_id = named.trace_id
    returning t.trace_id`
  return rows.map(({ trace_id }) => trace_id)
}

/**
 * Drafts that are not held and under which production traces among these were recorded; imported ones
 * and fixtures do not count. The last condition spares reading traces in a project without such a draft.
 */
export async function listUsedDrafts(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<{ id: string }[]>`
    select distinct m.id
    from traces t
    join manifests m on m.org_id = t.org_id and m.id = t.manifest_id
      and m.project_id = t.project_id and m.agent_name = t.agent_name
    where t.org_id = ${orgId} and t.project_id = ${projectId}
      and t.trace_id = any(${traceIds}::text[])
      and t.source_type = 'production' and not t.is_imported
      and not t.metadata @> '{"fixture": true}'
      and m.status = 'draft' and not m.is_held
      and exists (
        select from manifests d
        where d.org_id = ${orgId} and d.project_id = ${projectId} and d.status = 'draft' and not d.is_held)
    order by m.id`
}
