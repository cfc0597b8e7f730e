import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { shownSafety } from './bands.ts'
import { shownText, shownVersion } from './shown-versions.ts'

/** A skill that agents of an organization can be offered: its own, or one that an agent is assigned. */
export interface OfferedSkillRow {
  skill_id: string
  name: string
  description: string
  category: string | null
  version_number: number
  /** Of a published skill of another organization; null for an own one. */
  url_slug: string | null
  is_assigned: boolean
  /** How well it fits the query; 0 without one. */
  score: number
  /** Paths of the files beside SKILL.md, in byte order. */
  files: string[]
}

export interface Offer {
  /** Whose assignments count; null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  /** Default any agent. */
  readonly agentName?: string | undefined
  readonly category?: string | undefined
  /** Words in any language of which a skill has at least one. */
  readonly query?: string | undefined
  readonly limit: number
}

/**
 * Skills that a model may start, own ones while their newest version is not blocked, others in the version
 * that is shown: the best matches of the query first; without one those that are assigned, then the
 * others, by name.
 */
export async function listOffered(sql: Queryable, orgId: string, offer: Offer) {
  return sql<OfferedSkillRow[]>`
    with assigned as (
      select distinct skill_id from skill_assignments a
      where a.org_id = ${orgId} ${inProjects(sql, sql`a.project_id`, offer.projectIds)}
        ${offer.agentName === undefined ? sql`` : sql`and a.agent_name = ${offer.agentName}`}
    ), words as (
      select replace(replace(plainto_tsquery('english', ${offer.query ?? ''})::text, ' <-> ', ' | '),
        ' & ', ' | ')::tsquery as query
    )
    select * from (${ownSkills(sql, orgId, offer)} union all ${usedSkills(sql, orgId, offer)}) offered
    order by score desc, is_assigned desc, name, skill_id limit ${offer.limit}`
}

/** As many as the limit: so many are looked at for their band, not all. */
function ownSkills(sql: Queryable, orgId: string, offer: Offer) {
  return sql`(
    select s.id as skill_id, s.name, s.description, s.category, v.version_number,
      null as url_slug, s.is_assigned, s.score,
      array(select f.path from skill_version_files f
        where f.org_id = ${orgId} and f.version_id = v.id order by f.path) as files
    from (
      select s.id, s.name, s.description, s.category, ${score(sql, sql`s.document`)} as score,
        exists (select from assigned a where a.skill_id = s.id) as is_assigned
      from skills s, words
      where s.org_id = ${orgId} and s.deleted_at is null and s.invocation <> 'user'
        ${matching(sql, sql`s`, offer)}
      order by score desc, is_assigned desc, s.name, s.id) s
      cross join lateral (
        select * from skill_versions n where n.org_id = ${orgId} and n.skill_id = s.id
        order by n.version_number desc limit 1) v
      ${shownSafety(sql)}
    where shown.band <> 'blocked'
    order by s.score desc, s.is_assigned desc, s.name, s.id limit ${offer.limit})`
}

/** Published skills of other organizations, which agents of this one are assigned. */
function usedSkills(sql: Queryable, orgId: string, offer: Offer) {
  return sql`
    select r.skill_id, r.name, ${shownText(sql, 'description')}, r.category, v.version_number, r.url_slug,
      true as is_assigned, ${score(sql, sql`r.document`)} as score,
      array(select f.path from registry_files f
        where f.skill_id = v.skill_id and f.version_number = v.version_number
        order by f.path) as files
    from assigned a
      join registry_skills r on r.skill_id = a.skill_id and r.org_id <> ${orgId}
      ${shownVersion(sql)} cross join words
    where r.held_at is null and v.invocation <> 'user'
      ${matching(sql, sql`r`, offer)}`
}

function matching(sql: Queryable, row: Fragment, { category, query }: Offer) {
  return sql`${category === undefined ? sql`` : sql`and ${row}.category = ${category}`}
    ${query === undefined ? sql`` : sql`and ${row}.document @@ words.query`}`
}

/** A long description is not the better for having more words. */
function score(sql: Queryable, document: Fragment) {
  return sql`ts_rank(${document}, words.query, 1)::float8`
}
