import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'
import { isSkillRating } from './skill-ratings.ts'

/**
 * Stores which skills were active in traces or loaded by their agents, from their columns alone. What is
 * stored stays: revising a trace deletes it (`deleteFindings`), as does the end of the trace's id.
 */
export async function insertTraceSkills(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await tx`
    insert into trace_skills (org_id, project_id, trace_id, skill_name, skill_hash, started_at)
    select ${orgId}, ${projectId}, t.trace_id, used.name, used.hash, t.started_at
    from traces t cross join lateral (${skillsOf(tx)}) used
    where ${ofTraces(tx, orgId, projectId, traceIds, tx`t.`)}
    on conflict do nothing`
}

/**
 * The names of the skills of which these traces are evidence, where those have a score: they are public,
 * or copies of a skill that is.
 * @param traces those that use skills, and those in which skills were rated
 */
export async function listEvidenced(
  sql: Queryable,
  orgId: string,
  projectId: string,
  { using, rated }: { using: readonly string[]; rated: readonly string[] },
): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    with told as (
      select k.id from trace_skills u
      join skills k on k.org_id = u.org_id and k.name = u.skill_name and k.deleted_at is null
      where u.org_id = ${orgId} and u.project_id = ${projectId}
        and u.trace_id = any(${using as string[]}::text[])
      union
      select v.skill_id from eval_scores s
      join skill_versions v on v.org_id = s.org_id and v.id = ${ratedVersion(sql)}
      where ${isSkillRating(sql, sql`s`)} and ${ofTraces(sql, orgId, projectId, rated, sql`s.`)}
    )
    select k.name from told join skills k on k.org_id = ${orgId} and k.id = told.id
    where k.deleted_at is null and (k.visibility = 'public' or k.forked_from_skill_id is not null)`
  return rows.map(({ name }) => name)
}

/** The version that score `s` says it rates; null where it names none. */
function ratedVersion(sql: Queryable) {
  return sql`case when s.metadata ->> 'skill_version_id' ~ ${UUID}
    then (s.metadata ->> 'skill_version_id')::uuid end`
}

/**
 * A query of the names and hashes of the skills that trace `t` used. Names that no skill can have are none,
 * as are hashes that are no SHA-256. Of a skill that is named with a hash and without, the hash counts.
 */
function skillsOf(sql: Queryable) {
  return sql`
    select name, hash from (
      select name, hash, max(hash) over (partition by name) as known from (
        select each ->> 'name' as name,
          case when length(hex) = 64 and translate(hex, '0123456789abcdef', '') = '' then hex else '' end
            as hash
        from jsonb_array_elements(t.active_skills) each
          cross join lateral ${bareHash(sql, sql`each ->> 'hash'`)} hex
        union
        select loaded, '' from unnest(t.skills_loaded_by_agent) loaded) told
      where length(name) <= 64 and name ~ '^[a-z0-9]+(-[a-z0-9]+)*$') named
    where hash <> '' or known = ''
    order by name, hash limit ${SKILLS_OF_A_TRACE}`
}

/** A hash as clients write it, also in capitals or with its algorithm in front, as we do. */
export function bareHash(sql: Queryable, hash: Fragment) {
  return sql`replace(lower(${hash}), 'sha256:', '')`
}

const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
/** A trace that names more tells little of each. */
const SKILLS_OF_A_TRACE = 100
