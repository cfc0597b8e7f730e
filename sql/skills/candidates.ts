import type { Candidate, Lookup } from '../../jobs/rules/skills/skill-lookup.ts'
import { jsonText } from '../core/db.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { isShown } from './shown-versions.ts'

/**
 * What a reader resolves, in three statements for any number of items: which skills answer to a reference,
 * which of their versions are meant (`resolved-versions.ts`), and the bodies of these. Without a reader
 * only tables of the registry are read, and what is withheld is left out, so that all that is not served is
 * alike: it is missing.
 */

/** Who resolves. */
export interface SkillReader {
  readonly orgId: string
  /** Whose agents' assignments count; null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
}

export interface CandidateRow extends Candidate {
  /** The index of the lookup that it answers to. */
  lookup: number
  skill_id: string
  org_id: string
  /** The handle of the organization. */
  owner: string
  name: string
  /** Null for a skill that was never published. */
  url_slug: string | null
  is_fork: boolean
  /** The versions that agents of the reader are held to, null for the latest: at most two of them. */
  pins: (string | null)[]
}

/** The skills that answer to each lookup; of a bare name at most 5 public ones, and 5 that are used. */
export async function findCandidates(
  sql: Queryable,
  reader: SkillReader | null,
  lookups: readonly Lookup[],
) {
  return sql<CandidateRow[]>`
    with wanted as (
      select * from json_to_recordset(${jsonText(lookups.map((lookup, place) => ({ ...lookup, place })))}::text::json)
        as wanted(place int, id uuid, name text)
    )
    ${reader ? sql`${ownCandidates(sql, reader)} union all` : sql``}
    ${publicCandidates(sql, reader)}`
}

/** A name of an own skill, which is chosen freely, goes before the slug of another own one. */
function ownCandidates(sql: Queryable, reader: SkillReader) {
  const { orgId } = reader
  const live = sql`skills k where k.org_id = ${orgId} and k.deleted_at is null`
  return sql`
    select place as lookup, 'own' as scope, k.id as skill_id, k.org_id, o.handle as owner,
      k.name, o.handle || '/' || k.name as registry_name, s.url_slug,
      k.forked_from_skill_id is not null as is_fork, ${pins(sql, reader, sql`k.id`)} as pins
    from wanted
      join organizations o on o.id = ${orgId}
      cross join lateral (
        select k.id from ${live} and k.id = wanted.id
        union select k.id from ${live} and k.name = wanted.name
        union select k.id from ${live} and starts_with(wanted.name, o.handle || '/')
          and k.name = substr(wanted.name, length(o.handle) + 2)
        union select s.skill_id from registry_slugs s
          where s.url_slug = wanted.name and s.org_id = ${orgId}
            and not exists (select from ${live} and k.name = wanted.name)
      ) found
      join skills k on k.org_id = ${orgId} and k.id = found.id and k.deleted_at is null
      left join registry_slugs s on s.skill_id = k.id and s.org_id = ${orgId}`
}

function publicCandidates(sql: Queryable, reader: SkillReader | null) {
  const visible = reader ? sql`and r.org_id <> ${reader.orgId}` : sql`and ${isShown(sql)}`
  const named = sql`select r.skill_id from registry_skills r where r.name = wanted.name ${visible}`
  const used = reader && sql`exists (${assignments(sql, reader, sql`r.skill_id`)})`
  return sql`
    select place as lookup,
      ${used ? sql`case when ${used} then 'used' else 'public' end` : sql`'public'`} as scope,
      r.skill_id, r.org_id, r.handle as owner, r.name, r.registry_name, r.url_slug, false as is_fork,
      ${reader ? pins(sql, reader, sql`r.skill_id`) : sql`'[]'::json`} as pins
    from wanted
      cross join lateral (
        select skill_id from registry_skills where skill_id = wanted.id
        union select skill_id from registry_skills where registry_name = wanted.name
        union select skill_id from registry_skills where url_slug = wanted.name
        union (${named} order by r.registry_name limit 5)
        ${used ? sql`union (${named} and ${used} order by r.registry_name limit 5)` : sql``}
      ) found
      join registry_skills r on r.skill_id = found.skill_id ${visible}`
}

function pins(sql: Queryable, reader: SkillReader, skillId: Fragment) {
  return sql`to_json(array(
    select distinct a.version_id from (${assignments(sql, reader, skillId)}) a limit 2))`
}

/** The version ids of a skill's assignments that the reader sees. */
function assignments(sql: Queryable, { orgId, projectIds }: SkillReader, skillId: Fragment) {
  return sql`select a.version_id from skill_assignments a
    where a.org_id = ${orgId} and a.skill_id = ${skillId}
      ${inProjects(sql, sql`a.project_id`, projectIds)}`
}
