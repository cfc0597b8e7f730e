import { MAX_SKILLS } from '../../jobs/rules/skills/skill.ts'
import type { SkillUse } from '../../jobs/rules/skills/skill-use.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { isSameTrace } from '../traces/traces.ts'

/**
 * What the traces of an organization say that used skills. Of each skill the newest `MAX_TRACES` uses are
 * read, so that an answer takes as long however many there are.
 */

/** Which traces count. */
export interface UseFilter {
  readonly orgId: string
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  /** Default any agent. Applied to the newest uses by all agents. */
  readonly agentName?: string | undefined
  /** Started from then on. */
  readonly since: Date
}

/** Uses of a skill, or of a version of it, that are read. */
export const MAX_TRACES = 500

/** The names of skills that were used, in their order, those after a name. */
export async function listUsedSkills(
  sql: Queryable,
  filter: UseFilter,
  page: { after?: string | undefined; limit: number },
) {
  // The walk goes in the order of names, and no further than the page.
  const rows = await sql<{ name: string }[]>`
    with recursive ${readable(sql, filter)}, ${walked(sql, filter, page.after)}
    select name from walked w cross join lateral (${lastUse(sql, filter)}) last
    where last.at >= ${filter.since} limit ${page.limit}`
  return rows.map(({ name }) => name)
}

/** The names of the skills that were used last, at most so many. */
export async function listLatestUsed(sql: Queryable, filter: UseFilter, limit: number) {
  const rows = await sql<{ name: string }[]>`
    with recursive ${readable(sql, filter)}, ${walked(sql, filter)}
    select name from walked w cross join lateral (${lastUse(sql, filter)}) last
    where last.at >= ${filter.since} order by last.at desc, name limit ${limit}`
  return rows.map(({ name }) => name)
}

/** What is said of each of these skills, in the same order. */
export async function measureSkills(sql: Queryable, filter: UseFilter, names: readonly string[]) {
  const wanted = sql`
    select name, place from unnest(${names as string[]}::text[]) with ordinality told(name, place)`
  return measure(sql, filter, wanted, newestUses(sql, filter, sql`s.skill_name = w.name`))
}

/**
 * What is said of each of these versions of a skill, in the same order. Traces are of a version that name
 * its hash, or none, and started while it was the newest.
 */
export async function measureVersions(
  sql: Queryable,
  filter: UseFilter,
  skill: { readonly id: string; readonly name: string },
  versionIds: readonly string[],
) {
  const wanted = sql`
    select ${skill.name}::text as name, told.place, encode(v.body_sha256, 'hex') as hash, v.created_at,
      coalesce(next.created_at, 'infinity') as replaced_at
    from unnest(${versionIds as string[]}::uuid[]) with ordinality told(id, place)
      join skill_versions v on v.org_id = ${filter.orgId} and v.id = told.id
      left join skill_versions next on next.org_id = v.org_id and next.skill_id = v.skill_id
        and next.version_number = v.version_number + 1
    where v.skill_id = ${skill.id}`
  const named = sql`s.skill_name = w.name and s.skill_hash = w.hash`
  const unnamed = sql`s.skill_name = w.name and s.skill_hash = '' and s.started_at >= w.created_at
    and s.started_at < w.replaced_at`
  const uses = sql`
    (${newestUses(sql, filter, named)}) union all (${newestUses(sql, filter, unnamed)})
    order by started_at desc limit ${MAX_TRACES}`
  return measure(sql, filter, wanted, uses)
}

/**
 * Reads the traces of the uses of each row `w` that is wanted, in the order of `place`.
 * @param uses a query of the uses of row `w`
 */
function measure(sql: Queryable, filter: UseFilter, wanted: Fragment, uses: Fragment) {
  const { orgId, agentName } = filter
  const passed = sql`case v.eval_verdict when 'pass' then 1 when 'review' then 0.5 when 'fail' then 0 end`
  return sql<SkillUse[]>`
    with ${readable(sql, filter)}, wanted as (${wanted})
    select w.name, count(t.trace_id)::int as traces,
      coalesce(bool_or(u.read = ${MAX_TRACES}), false) as is_capped,
      count(v.eval_verdict)::int as judged, avg(${passed})::float8 as pass_rate,
      var_samp(${passed})::float8 as pass_variance, avg(v.quality_avg) as quality,
      avg(t.input_tokens + t.output_tokens)::float8 as tokens
    from wanted w
      left join lateral (
        select distinct project_id, trace_id, count(*) over () as read from (${uses}) newest) u on true
      left join trace_ids k on k.org_id = ${orgId} and k.project_id = u.project_id
        and k.trace_id = u.trace_id
      left join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
        ${agentName === undefined ? sql`` : sql`and t.agent_name = ${agentName}`}
      left join verdicts v on ${isSameTrace(sql, sql`v`, sql`t`)}
    group by w.name, w.place order by w.place`
}

/** The newest uses of the skill or version of row `w` whose uses `s` match, over the readable projects. */
function newestUses(sql: Queryable, { orgId, since }: UseFilter, matching: Fragment) {
  return sql`
    select of_project.* from readable p cross join lateral (
      select s.project_id, s.trace_id, s.started_at from trace_skills s
      where s.org_id = ${orgId} and s.project_id = p.id and ${matching} and s.started_at >= ${since}
      order by s.started_at desc limit ${MAX_TRACES}) of_project
    order by started_at desc limit ${MAX_TRACES}`
}

function readable(sql: Queryable, { orgId, projectIds }: UseFilter) {
  return sql`readable as materialized (
    select id from projects where org_id = ${orgId} ${inProjects(sql, sql`id`, projectIds)})`
}

/** `walked`: the names of used skills after a name, one index entry after the other. */
function walked(sql: Queryable, filter: UseFilter, after = '') {
  return sql`walked as (
    select 1 as n, next.name from (${nextName(sql, filter, sql`${after}`)}) next
    union all
    select w.n + 1, next.name from walked w cross join lateral (${nextName(sql, filter, sql`w.name`)}) next
    where w.n < ${MAX_WALKED}
  )`
}

function nextName(sql: Queryable, { orgId }: UseFilter, after: Fragment) {
  return sql`
    select first.skill_name as name from readable p cross join lateral (
      select s.skill_name from trace_skills s
      where s.org_id = ${orgId} and s.project_id = p.id and s.skill_name > ${after}
      order by s.skill_name limit 1) first
    order by first.skill_name limit 1`
}

/** When the skill of row `w` was used last. */
function lastUse(sql: Queryable, { orgId }: UseFilter) {
  return sql`
    select max(newest.started_at) as at from readable p cross join lateral (
      select s.started_at from trace_skills s
      where s.org_id = ${orgId} and s.project_id = p.id and s.skill_name = w.name
      order by s.started_at desc limit 1) newest`
}

/** Names of one walk: as many as an organization may have skills. */
const MAX_WALKED = MAX_SKILLS
