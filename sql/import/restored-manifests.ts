import type { Queryable } from '../core/db.ts'

/**
 * Of manifests that were restored: those that traces named by their hash before, and those that are active for
 * an agent that had traces before.
 */
export async function listManifestsInUse(sql: Queryable, orgId: string, ids: readonly string[]) {
  const rows = await sql<
    { manifest_id: string; project_id: string; agent_name: string; named: boolean; used: boolean }[]
  >`
    select m.id as manifest_id, m.project_id, m.agent_name,
      exists (
        select from traces t where t.org_id = m.org_id and t.project_id = m.project_id
          and t.agent_name = m.agent_name and t.manifest_id is null
          and t.manifest_hash = substr(m.manifest_hash, 8)) as named,
      m.status = 'active' and exists (
        select from traces t where t.org_id = m.org_id and t.project_id = m.project_id
          and t.agent_name = m.agent_name) as used
    from manifests m where m.org_id = ${orgId} and m.id = any(${ids}::uuid[])`
  return {
    links: rows.flatMap(({ manifest_id, named }) => (named ? manifest_id : [])),
    retargets: rows.flatMap(({ project_id, agent_name, manifest_id, used }) =>
      used ? { project_id, agent_name, manifest_id } : [],
    ),
  }
}
