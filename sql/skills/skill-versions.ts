import { randomUUIDv7 } from 'node:crypto'
import type { Band, Origin } from '../../jobs/rules/skills/skill.ts'
import { arrayText, byteaText } from '../core/array-text.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { shownSafety } from './bands.ts'

/** A version without its body. */
export interface SkillVersionRow {
  id: string
  skill_id: string
  /** From 1. */
  version_number: number
  /** SHA-256 of the body. */
  body_sha256: Buffer
  change_summary: string | null
  author: string | null
  origin: Origin
  parent_version_id: string | null
  restored_from_version_id: string | null
  /** How often its files were changed in place. */
  revision: number
  /** Its files change no more. */
  frozen: boolean
  /** As it is shown; see `shownSafety`. */
  band: Band
  reason_codes: string[]
  created_at: Date
}

export type NewSkillVersion = Pick<
  SkillVersionRow,
  | 'id'
  | 'skill_id'
  | 'version_number'
  | 'change_summary'
  | 'author'
  | 'origin'
  | 'parent_version_id'
  | 'restored_from_version_id'
> & { readonly body: string }

/** The version of a skill that comes after its `newest` one, or is its first. */
export function nextVersion(
  skillId: string,
  newest: Pick<SkillVersionRow, 'id' | 'version_number'> | undefined,
  made: Pick<NewSkillVersion, 'body' | 'origin' | 'author'> &
    Partial<Pick<NewSkillVersion, 'change_summary' | 'restored_from_version_id'>>,
): NewSkillVersion {
  return {
    id: randomUUIDv7(),
    skill_id: skillId,
    version_number: (newest?.version_number ?? 0) + 1,
    parent_version_id: newest?.id ?? null,
    change_summary: null,
    restored_from_version_id: null,
    ...made,
  }
}

/** The newest version of each of these skills, by skill id. */
export async function findNewest(sql: Queryable, orgId: string, skillIds: readonly string[]) {
  const rows = await sql<SkillVersionRow[]>`
    select ${columns(sql)}
    from unnest(${skillIds as string[]}::uuid[]) wanted(skill_id)
      cross join lateral (
        select * from skill_versions n where n.org_id = ${orgId} and n.skill_id = wanted.skill_id
        order by n.version_number desc limit 1) v
      ${shownSafety(sql)}`
  return new Map(rows.map((row) => [row.skill_id, row]))
}

/** @param by its number, its id, or the newest that has this body */
export async function findVersion(
  sql: Queryable,
  orgId: string,
  skillId: string,
  by: { number: number } | { id: string } | { bodySha256: Buffer },
) {
  const condition =
    'number' in by
      ? sql`v.version_number = ${by.number}`
      : 'id' in by
        ? sql`v.id = ${by.id}`
        : sql`v.body_sha256 = ${by.bodySha256}`
  const [row] = await sql<SkillVersionRow[]>`
    select ${columns(sql)} from skill_versions v ${shownSafety(sql)}
    where v.org_id = ${orgId} and v.skill_id = ${skillId} and ${condition}
    order by v.version_number desc limit 1`
  return row
}

/** Of each of these skills the newest version that has the body beside it, by skill id. */
export async function findSameBodies(
  sql: Queryable,
  orgId: string,
  wanted: readonly { readonly skillId: string; readonly sha256: Buffer }[],
) {
  const hashes = arrayText(wanted.map(({ sha256 }) => byteaText(sha256)))
  const rows = await sql<SkillVersionRow[]>`
    select ${columns(sql)}
    from unnest(${wanted.map(({ skillId }) => skillId)}::uuid[], ${hashes}::text::bytea[])
        wanted(skill_id, sha256)
      cross join lateral (
        select * from skill_versions n
        where n.org_id = ${orgId} and n.skill_id = wanted.skill_id and n.body_sha256 = wanted.sha256
        order by n.version_number desc limit 1) v
      ${shownSafety(sql)}`
  return new Map(rows.map((row) => [row.skill_id, row]))
}

/** The newest first, those before a version number. */
export async function listVersions(
  sql: Queryable,
  orgId: string,
  skillId: string,
  page: { before?: number | undefined; limit: number; offset: number },
) {
  return sql<SkillVersionRow[]>`
    select ${columns(sql)} from skill_versions v ${shownSafety(sql)}
    where v.org_id = ${orgId} and v.skill_id = ${skillId}
      ${page.before === undefined ? sql`` : sql`and v.version_number < ${page.before}`}
    order by v.version_number desc limit ${page.limit} offset ${page.offset}`
}

/** The body of each of these versions, by version id. */
export async function readBodies(sql: Queryable, orgId: string, versionIds: readonly string[]) {
  const rows = await sql<{ id: string; body: string }[]>`
    select id, body from skill_versions
    where org_id = ${orgId} and id = any(${versionIds as string[]}::uuid[])`
  return new Map(rows.map(({ id, body }) => [id, body]))
}

/** As `readBodies`, of the first of these versions, as many as have so many bytes together. */
export async function readFirstBodies(
  sql: Queryable,
  orgId: string,
  versionIds: readonly string[],
  maxBytes: number,
) {
  const rows = await sql<{ id: string; body: string }[]>`
    select id, body from (
      select v.id, v.body, sum(octet_length(v.body)) over (order by wanted.n) as bytes
      from unnest(${versionIds as string[]}::uuid[]) with ordinality wanted(id, n)
        join skill_versions v on v.org_id = ${orgId} and v.id = wanted.id) first
    where bytes <= ${maxBytes}`
  return new Map(rows.map(({ id, body }) => [id, body]))
}

/**
 * Inserts versions, and freezes the versions that they follow. No scanner has looked at the skills then,
 * which have to be locked.
 */
export async function insertVersions(
  tx: Transaction,
  orgId: string,
  versions: readonly NewSkillVersion[],
) {
  await tx`
    with added as (
      insert into skill_versions (org_id, skill_id, id, version_number, body, body_sha256,
        change_summary, author, origin, parent_version_id, restored_from_version_id)
      select ${orgId}, skill_id, id, version_number, body, sha256(convert_to(body, 'UTF8')),
        change_summary, author, origin, parent_version_id, restored_from_version_id
      from json_populate_recordset(null::skill_versions, ${jsonText(versions)}::text::json)
      returning skill_id, parent_version_id
    ), unscanned as (
      update skills k set scanner_version = 0
      from added where k.org_id = ${orgId} and k.id = added.skill_id
    )
    update skill_versions v set frozen_at = coalesce(frozen_at, clock_timestamp())
    from added where v.org_id = ${orgId} and v.id = added.parent_version_id`
}

/** Files of the newest version were changed in place: no scan of it counts any more, and no restore adds to it. */
export async function reviseVersion(tx: Transaction, orgId: string, versionId: string) {
  await tx`
    with revised as (
      update skill_versions set revision = revision + 1, restored_by = null
      where org_id = ${orgId} and id = ${versionId} returning skill_id
    )
    update skills k set scanner_version = 0
    from revised where k.org_id = ${orgId} and k.id = revised.skill_id`
}

/** Of version `v`, with its `shown` safety. */
function columns(sql: Queryable) {
  return sql`v.id, v.skill_id, v.version_number, v.body_sha256, v.change_summary, v.author, v.origin,
    v.parent_version_id, v.restored_from_version_id, v.revision, v.frozen_at is not null as frozen,
    shown.band, shown.reason_codes, v.created_at`
}
