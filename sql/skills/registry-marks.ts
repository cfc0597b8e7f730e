import type { Queryable } from '../core/db.ts'
import { shownVersion } from './shown-versions.ts'

/** What the registry says of a skill of an organization. */
export interface RegistryMarks {
  id: string
  /** Its public name, which it keeps when it is public no more; null when it never was. */
  url_slug: string | null
  /** The skill that it is a copy of is shown in a version after the one taken, which was not seen. */
  has_upstream_update: boolean
}

/** By skill id. */
export async function findRegistryMarks(sql: Queryable, orgId: string, ids: readonly string[]) {
  const rows = await sql<RegistryMarks[]>`
    select s.id, slug.url_slug,
      coalesce(up.version_number > ${takenNumber(sql)}
        and up.version_id is distinct from s.upstream_seen_version_id, false) as has_upstream_update
    from skills s
      left join registry_slugs slug on slug.org_id = s.org_id and slug.skill_id = s.id
      left join lateral (
        select v.version_id, v.version_number from registry_skills r ${shownVersion(sql)}
        where r.skill_id = s.forked_from_skill_id and r.held_at is null) up on true
    where s.org_id = ${orgId} and s.id = any(${ids as string[]}::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}

/** Whether a copy has taken no version of this number or a later one. */
export async function isNewer(sql: Queryable, orgId: string, id: string, versionNumber: number) {
  const [row] = await sql<{ is_newer: boolean }[]>`
    select ${versionNumber} > ${takenNumber(sql)} as is_newer from skills s
    where s.org_id = ${orgId} and s.id = ${id}`
  return row?.is_newer === true
}

/**
 * The number of the version that skill `s` was copied at, or took since: of the organization or public.
 * What is public again after a while has later numbers than the versions that are gone, which count as 0.
 */
function takenNumber(sql: Queryable) {
  return sql`coalesce(
    (select n.version_number from skill_versions n
      where n.org_id = s.org_id and n.id = s.forked_at_version_id),
    (select n.version_number from registry_versions n where n.version_id = s.forked_at_version_id), 0)`
}
