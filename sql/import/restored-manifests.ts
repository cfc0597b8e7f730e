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

/** A manifest that is to be restored. */
export interface GivenManifest {
  readonly project_id: string
  readonly agent_name: string
  readonly version_number: number
  readonly manifest_hash: string
}

/** What each agent has of these manifests already, in their order. */
export async function listPresent(
  sql: Queryable,
  orgId: string,
  given: readonly GivenManifest[],
): Promise<readonly PresentManifest[]> {
  return sql<PresentManifest[]>`
    select
      exists (select from manifests m where ${ofAgent(sql, orgId)} and m.manifest_hash = g.manifest_hash) as "isThere",
      exists (select from manifests m where ${ofAgent(sql, orgId)} and m.version_number = g.version_number) as "isTaken",
      coalesce((select max(m.version_number) from manifests m where ${ofAgent(sql, orgId)}), 0) as newest
    from unnest(${given.map(({ project_id }) => project_id)}::uuid[],
      ${given.map(({ agent_name }) => agent_name)}::text[],
      ${given.map(({ version_number }) => version_number)}::int8[],
      ${given.map(({ manifest_hash }) => manifest_hash)}::text[])
      with ordinality g (project_id, agent_name, version_number, manifest_hash, place)
    order by place`
}

function ofAgent(sql: Queryable, orgId: string) {
  return sql`m.org_id = ${orgId} and m.project_id = g.project_id and m.agent_name = g.agent_name`
}

interface PresentManifest {
  /** It is there itself, under whatever number. */
  readonly isThere: boolean
  /** Its number is that of one that is there. */
  readonly isTaken: boolean
  /** The highest number of its agent; 0 for none. */
  readonly newest: number
}
