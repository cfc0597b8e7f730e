import type { Queryable } from '../core/db.ts'

/** What the registry says of a skill of an organization. */
export interface RegistryMarks {
  id: string
  /** Its public name, which it keeps when it is public no more; null when it never was. */
  url_slug: string | null
  /** The skill that it is a copy of is public, in a version that was neither taken nor seen. */
  has_upstream_update: boolean
}

/** By skill id. */
export async function findRegistryMarks(sql: Queryable, orgId: string, ids: readonly string[]) {
  const rows = await sql<RegistryMarks[]>`
    select s.id, slug.url_slug,
      coalesce(up.current_version_id <> s.forked_at_version_id
        and up.current_version_id is distinct from s.upstream_seen_version_id, false)
        as has_upstream_update
    from skills s
      left join registry_slugs slug on slug.org_id = s.org_id and slug.skill_id = s.id
      left join registry_skills up on up.skill_id = s.forked_from_skill_id
        and up.held_at is null and up.band <> 'blocked'
    where s.org_id = ${orgId} and s.id = any(${ids as string[]}::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}
