import type { Invocation, Stability } from '../../jobs/rules/skills/skill.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { deleteInstalls } from './public-skills.ts'

export interface SkillRow {
  id: string
  name: string
  display_name: string | null
  /** 1 to 1,024 characters. */
  description: string
  category: string | null
  stability: Stability
  invocation: Invocation
  trigger_phrases: string[]
  frontmatter: Record<string, unknown>
  visibility: 'private' | 'public'
  /** The published skill of which it is a copy; of any organization. */
  forked_from_skill_id: string | null
  forked_at_version_id: string | null
  upstream_seen_version_id: string | null
  /** Made by the demo, and neither changed nor published since. */
  is_fixture: boolean
  /** The key that made it. */
  created_by: string | null
  created_at: Date
  updated_at: Date
}

/** What may be said of a skill after it was made. */
export type SkillDetails = Pick<
  SkillRow,
  | 'display_name'
  | 'description'
  | 'category'
  | 'stability'
  | 'invocation'
  | 'trigger_phrases'
  | 'frontmatter'
>

/** How a skill is to be evaluated, as its client wrote it. Null leaves what is stored. */
export interface SkillEval {
  readonly eval_yaml: string | null
}

export type NewSkill = SkillEval &
  Omit<SkillRow, 'created_at' | 'updated_at' | 'visibility' | 'upstream_seen_version_id'>

/**
 * Until the transaction ends nobody else writes skills of these names. Taken before the first read, and
 * once a transaction. The names of an organization share few locks, because the server has room for some
 * thousands in all; they are taken in one order, so that two who lock several never wait for each other.
 */
export async function lockSkills(tx: Transaction, orgId: string, names: readonly string[]) {
  await tx`
    select pg_advisory_xact_lock(hashtextextended(key, 0))
    from (
      select distinct ${`skill ${orgId} `} || (hashtext(name) & ${LOCKS - 1}::int) as key
      from unnest(${names as string[]}::text[]) name
      order by key
    ) keys`
}

/** By its id or its name; undefined for one that was deleted. */
export async function findSkill(sql: Queryable, orgId: string, by: SkillReference) {
  const [row] = await sql<SkillRow[]>`
    select ${columns(sql)} from skills
    where org_id = ${orgId} and deleted_at is null
      and ${by.id === undefined ? sql`name = ${by.name}` : sql`id = ${by.id}`}`
  return row
}

/** By name; missing ones are left out. */
export async function findSkills(sql: Queryable, orgId: string, names: readonly string[]) {
  const rows = await sql<SkillRow[]>`
    select ${columns(sql)} from skills
    where org_id = ${orgId} and deleted_at is null and name = any(${names as string[]}::text[])`
  return new Map(rows.map((row) => [row.name, row]))
}

/** How a skill is to be evaluated; it can be large. */
export async function readEval(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<SkillEval[]>`
    select eval_yaml from skills where org_id = ${orgId} and id = ${id}`
  return row?.eval_yaml ?? null
}

/** The hash of the newest body of each skill, by name, in the order of the names; at most so many. */
export async function listHashes(sql: Queryable, orgId: string, limit: number) {
  return sql<{ name: string; body_sha256: Buffer }[]>`
    select s.name, newest.body_sha256 from (
        select id, name from skills where org_id = ${orgId} and deleted_at is null
        order by name limit ${limit}) s
      cross join lateral (
        select body_sha256 from skill_versions v where v.org_id = ${orgId} and v.skill_id = s.id
        order by version_number desc limit 1) newest
    order by s.name`
}

/** The newest first. */
export async function listSkills(
  sql: Queryable,
  orgId: string,
  page: {
    before?: AgeKey | undefined
    category?: string | undefined
    limit: number
    offset: number
  },
) {
  return sql<SkillRow[]>`
    select ${columns(sql)} from skills
    where org_id = ${orgId} and deleted_at is null
      ${inCategory(sql, page.category)}
      ${isOlder(sql, sql`(created_at, id)`, page.before)}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** How many skills match, counted no further than `limit`. */
export async function countSkills(
  sql: Queryable,
  orgId: string,
  category: string | undefined,
  limit: number,
) {
  return countUpTo(
    sql,
    limit,
    sql`skills where org_id = ${orgId} and deleted_at is null ${inCategory(sql, category)}`,
  )
}

/** Returns the names that the organization has already; those skills are not inserted. */
export async function insertSkills(
  tx: Transaction,
  orgId: string,
  skills: readonly NewSkill[],
): Promise<Set<string>> {
  const inserted = await tx<{ name: string }[]>`
    insert into skills (org_id, id, name, display_name, description, category, stability, invocation,
      trigger_phrases, frontmatter, eval_yaml, forked_from_skill_id, forked_at_version_id, is_fixture,
      created_by, document)
    select ${orgId}, id, name, display_name, description, category, stability, invocation,
      trigger_phrases, frontmatter, eval_yaml, forked_from_skill_id, forked_at_version_id, is_fixture,
      created_by, ${skillDocument(tx)}
    from json_populate_recordset(null::skills, ${jsonText(skills)}::text::json) s
    on conflict (org_id, name) where deleted_at is null do nothing
    returning name`
  const made = new Set(inserted.map(({ name }) => name))
  return new Set(skills.flatMap(({ name }) => (made.has(name) ? [] : [name])))
}

/**
 * Replaces all details of these skills, which are the demo's no longer. One of which the same is said stays
 * as it is, and as old.
 */
export async function updateSkills(
  tx: Transaction,
  orgId: string,
  skills: readonly (SkillDetails & SkillEval & { readonly id: string })[],
) {
  if (skills.length === 0) return
  await tx`
    update skills k
    set display_name = s.display_name, description = s.description, category = s.category,
      stability = s.stability, invocation = s.invocation, trigger_phrases = s.trigger_phrases,
      frontmatter = s.frontmatter, eval_yaml = coalesce(s.eval_yaml, k.eval_yaml),
      document = (select ${skillDocument(tx)} from (select k.name, s.description, s.trigger_phrases) s),
      is_fixture = false, updated_at = clock_timestamp()
    from json_populate_recordset(null::skills, ${jsonText(skills)}::text::json) s
    where k.org_id = ${orgId} and k.id = s.id
      and (k.display_name, k.description, k.category, k.stability, k.invocation, k.trigger_phrases,
          k.frontmatter, k.eval_yaml)
        is distinct from (s.display_name, s.description, s.category, s.stability, s.invocation,
          s.trigger_phrases, s.frontmatter, coalesce(s.eval_yaml, k.eval_yaml))`
}

/** A skill of the demo that somebody changed is the organization's own: nothing takes it out again. */
export async function adoptSkills(tx: Transaction, orgId: string, ids: readonly string[]) {
  await tx`
    update skills set is_fixture = false
    where org_id = ${orgId} and id = any(${ids as string[]}::uuid[]) and is_fixture`
}

/**
 * Revises the newest version of each of these skills whose description, phrases, frontmatter or evaluation
 * are about to be others, because a scan looks at them too. Returns the ids of the versions.
 */
export async function reviseDescribed(
  tx: Transaction,
  orgId: string,
  skills: readonly (SkillDetails & SkillEval & { readonly id: string })[],
) {
  const revised = await tx<{ id: string }[]>`
    with changed as (
      update skills k set scanner_version = 0
      from json_populate_recordset(null::skills, ${jsonText(skills)}::text::json) s
      where k.org_id = ${orgId} and k.id = s.id
        and (k.description, k.trigger_phrases, k.frontmatter, k.eval_yaml) is distinct from
          (s.description, s.trigger_phrases, s.frontmatter, coalesce(s.eval_yaml, k.eval_yaml))
      returning k.id
    )
    update skill_versions v set revision = v.revision + 1
    from changed cross join lateral (
      select n.id from skill_versions n where n.org_id = ${orgId} and n.skill_id = changed.id
      order by n.version_number desc limit 1) newest
    where v.org_id = ${orgId} and v.id = newest.id
    returning v.id`
  return revised.map(({ id }) => id)
}

/** Notes which version of the skill that it is a copy of was taken, or seen and not taken. */
export async function markUpstream(
  tx: Transaction,
  orgId: string,
  id: string,
  mark: Partial<Pick<SkillRow, 'forked_at_version_id' | 'upstream_seen_version_id'>>,
) {
  await tx`update skills set ${tx({ ...mark })} where org_id = ${orgId} and id = ${id}`
}

/**
 * From now on nothing finds a skill; its name is free again. Its assignments end, and it is no installation
 * of the public skill that it is a copy of.
 */
export async function deleteSkill(tx: Transaction, orgId: string, id: string) {
  await deleteInstalls(tx, orgId, id)
  await tx`
    with unassigned as (
      delete from skill_assignments where org_id = ${orgId} and skill_id = ${id}
    )
    update skills set deleted_at = clock_timestamp() where org_id = ${orgId} and id = ${id}`
}

function inCategory(sql: Queryable, category: string | undefined) {
  return category === undefined ? sql`` : sql`and category = ${category}`
}

/** The words that a skill is found by, of row `s`, or another one. */
export function skillDocument(sql: Queryable, row = sql`s`) {
  return sql`search_document(concat_ws(' ', replace(${row}.name, '-', ' '), ${row}.description,
    array_to_string(${row}.trigger_phrases, ' ')))`
}

function columns(sql: Queryable) {
  return sql`id, name, display_name, description, category, stability, invocation, trigger_phrases,
    frontmatter, visibility, forked_from_skill_id, forked_at_version_id,
    upstream_seen_version_id, is_fixture, created_by, created_at, updated_at`
}

/** One of the two. */
export type SkillReference =
  | { readonly id: string; readonly name?: undefined }
  | { readonly name: string; readonly id?: undefined }

/** Locks that the names of an organization share; a power of two. */
const LOCKS = 16
