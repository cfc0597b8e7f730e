import type { Fragment, Queryable } from '../core/db.ts'

/** A published skill whose evidence is read. */
export interface ScoredSkill {
  readonly skillId: string
  /** The evidence is of this time: later than the one, and not later than the other. */
  readonly since: Date
  readonly until: Date
}

export interface Dated {
  /** Of when the newest of some evidence is; null where there is none. */
  newest_at: Date | null
}

/**
 * A query of the versions by which a skill is scored: the public one and the one before it, and those with
 * the body of either in the newest 1,000 installs of other organizations. `is_current` is a version with the
 * public body, `newest_from` to `newest_until` the time in which it was the newest of its skill.
 */
export function scoredVersions(sql: Queryable, { skillId }: ScoredSkill) {
  return sql`
    with own as materialized (
      select r.org_id, r.skill_id, r.name, v.id, v.version_number, v.body_sha256, v.created_at,
        v.version_number = r.current_version as is_current, true as is_own
      from registry_skills r cross join lateral (
        select * from skill_versions v
        where v.org_id = r.org_id and v.skill_id = r.skill_id
          and v.version_number <= r.current_version
        order by v.version_number desc limit 2) v
      where r.skill_id = ${skillId}
    ), bodies as (
      select body_sha256, bool_or(is_current) as is_current from own group by body_sha256
    ), installs as (
      select i.org_id, i.fork_skill_id from registry_installs i
      where i.skill_id = ${skillId} and i.org_id <> all(select org_id from own)
      order by i.created_at desc limit ${INSTALLS_MOST}
    ), chosen as (
      select * from own
      union all
      select k.org_id, k.id, k.name, v.id, v.version_number, v.body_sha256, v.created_at,
        bodies.is_current, false
      from installs i
        join skills k on k.org_id = i.org_id and k.id = i.fork_skill_id and k.deleted_at is null
        cross join bodies cross join lateral (
          select * from skill_versions v
          where v.org_id = k.org_id and v.skill_id = k.id and v.body_sha256 = bodies.body_sha256
          order by v.version_number desc limit ${VERSIONS_MOST}) v
    )
    select c.*, c.created_at as newest_from, coalesce((
        select n.created_at from skill_versions n
        where n.org_id = c.org_id and n.skill_id = c.skill_id and n.version_number > c.version_number
        order by n.version_number limit 1), 'infinity') as newest_until
    from chosen c`
}

/**
 * The condition on a group of rows of one `is_own` that their sums may be told: those of others only where
 * they are of several organizations, so that nobody reads from a score what one of them has.
 */
export function mayBeTold(sql: Queryable, row: Fragment) {
  return sql`having bool_or(${row}.is_own) or count(distinct ${row}.org_id) >= ${ORGANIZATIONS_LEAST}::int`
}

const INSTALLS_MOST = 1000
/** Of an install, with the same body: they differ in files, or restore it. */
const VERSIONS_MOST = 10
/** Of others, besides the owner, whose evidence is told together. */
export const ORGANIZATIONS_LEAST = 3
