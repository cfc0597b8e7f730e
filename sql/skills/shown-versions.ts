import type { Fragment, Queryable } from '../core/db.ts'

/**
 * What is served of a public skill, row `r` of `registry_skills`: while the operator has not withdrawn it,
 * its versions that are not blocked; of these the newest where none is named.
 */

/** The condition that the skill is there for anybody. */
export function isShown(sql: Queryable) {
  // The band is that of the newest version. Where it is blocked those before are looked at; not by
  // `exists`, for which the planner would read the versions of all skills.
  return sql`r.held_at is null and (r.band <> 'blocked' or (
    select true from registry_versions v where v.skill_id = r.skill_id and v.band <> 'blocked' limit 1))`
}

/**
 * Joins row `v`, the version that is served. The condition `r.held_at is null` is the caller's.
 * @param which of the versions `n`, default the newest
 */
export function shownVersion(sql: Queryable, which: Fragment = sql`true`) {
  return sql`cross join lateral (
    select * from registry_versions n
    where n.skill_id = r.skill_id and n.band <> 'blocked' and ${which}
    order by n.version_number desc limit 1) v`
}

/** Of the newest version the listing says it, as it was published last; of one before, that version. */
export function shownText(sql: Queryable, column: 'description' | 'stability') {
  return sql`case when v.version_id = r.current_version_id then r.${sql(column)}
    else v.${sql(column)} end as ${sql(column)}`
}
