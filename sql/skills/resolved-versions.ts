import type { Frontmatter } from '../../jobs/rules/skills/skill-frontmatter.ts'
import type { Band, Invocation, Stability } from '../../jobs/rules/skills/skill.ts'
import { jsonText } from '../core/db.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { shownSafety } from './bands.ts'
import type { SkillReader } from './candidates.ts'

/** One version of a candidate: of this number, of this id, or else the latest. */
export interface WantedVersion {
  readonly skill_id: string
  /** It is the reader's own. */
  readonly is_own: boolean
  readonly version_number?: number | undefined
  readonly version_id?: string | undefined
}

export interface ResolvedVersionRow {
  /** The index of the version that was wanted. */
  wanted: number
  version_id: string
  version_number: number
  body_sha256: Buffer
  description: string
  invocation: Invocation
  stability: Stability
  frontmatter: Frontmatter
  band: Band
  /** The operator withdrew the skill. */
  is_held: boolean
  /** The newest version that others may have, else the newest; of an own skill the newest. */
  latest_id: string
  latest_number: number
  /** There is a newer version than the latest. */
  has_newer: boolean
  /** Beside SKILL.md, by path in byte order. */
  files: ResolvedFile[]
}

export interface ResolvedFile {
  path: string
  /** In hex. */
  sha256: string
  mode: '0644' | '0755'
}

/** The versions wanted that there are, with their files. */
export async function findResolvedVersions(
  sql: Queryable,
  reader: SkillReader | null,
  wanted: readonly WantedVersion[],
) {
  return sql<ResolvedVersionRow[]>`
    with wanted as (
      select * from json_to_recordset(${jsonText(wanted.map((version, place) => ({ ...version, place })))}::text::json)
        as wanted(place int, skill_id uuid, is_own bool, version_number int, version_id uuid)
    )
    ${reader ? sql`${ownVersions(sql, reader)} union all` : sql``}
    ${publicVersions(sql, reader)}`
}

/** The bodies of resolved versions, by version id. */
export async function readResolvedBodies(
  sql: Queryable,
  reader: SkillReader | null,
  versionIds: readonly string[],
) {
  const ids = versionIds as string[]
  const rows = await sql<{ id: string; body: string }[]>`
    ${
      reader
        ? sql`select id, body from skill_versions
            where org_id = ${reader.orgId} and id = any(${ids}::uuid[])
            union all`
        : sql``
    }
    select version_id as id, body from registry_versions where version_id = any(${ids}::uuid[])`
  return new Map(rows.map(({ id, body }) => [id, body]))
}

/** A file beside SKILL.md of a resolved version. */
export async function readResolvedFile(
  sql: Queryable,
  reader: SkillReader | null,
  versionId: string,
  path: string,
) {
  const [row] = await sql<{ content: Buffer }[]>`
    ${
      reader
        ? sql`select b.content
            from skill_version_files f join skill_blobs b on b.org_id = f.org_id and b.sha256 = f.sha256
            where f.org_id = ${reader.orgId} and f.version_id = ${versionId} and f.path = ${path}
            union all`
        : sql``
    }
    select f.content from registry_versions v
      join registry_files f on f.skill_id = v.skill_id and f.version_number = v.version_number
    where v.version_id = ${versionId} and f.path = ${path}
    limit 1`
  return row?.content
}

function ownVersions(sql: Queryable, { orgId }: SkillReader) {
  const ofSkill = sql`skill_versions v where v.org_id = ${orgId} and v.skill_id = k.id`
  return sql`
    select place as wanted, v.id as version_id, v.version_number, v.body_sha256,
      k.description, k.invocation, k.stability, k.frontmatter, shown.band, false as is_held,
      latest.id as latest_id, latest.version_number as latest_number, false as has_newer,
      ${filesOf(sql, sql`skill_version_files f where f.org_id = ${orgId} and f.version_id = v.id`)}
    from wanted
      join skills k on k.org_id = ${orgId} and k.id = wanted.skill_id and wanted.is_own
      cross join lateral (
        select v.id, v.version_number from ${ofSkill} order by v.version_number desc limit 1) latest
      cross join lateral (
        select v.* from ${ofSkill} and v.version_number = case when wanted.version_id is null
          then coalesce(wanted.version_number, latest.version_number)
          else (select v.version_number from ${ofSkill} and v.id = wanted.version_id) end) v
      ${shownSafety(sql)}`
}

function publicVersions(sql: Queryable, reader: SkillReader | null) {
  const served = reader ? sql`` : sql`and v.band <> 'blocked'`
  const ofSkill = sql`registry_versions v where v.skill_id = r.skill_id ${served}`
  return sql`
    select place as wanted, v.version_id, v.version_number, v.body_sha256, v.description,
      v.invocation, r.stability, v.frontmatter, v.band, r.held_at is not null as is_held,
      coalesce(visible.version_id, newest.version_id) as latest_id, latest.version_number as latest_number,
      newest.version_number > latest.version_number as has_newer,
      ${filesOf(
        sql,
        sql`registry_files f
          where f.skill_id = r.skill_id and f.version_number = v.version_number`,
      )}
    from wanted
      join registry_skills r on r.skill_id = wanted.skill_id and not wanted.is_own
      cross join lateral (
        select v.version_id, v.version_number from ${ofSkill}
        order by v.version_number desc limit 1) newest
      left join lateral (
        select v.version_id, v.version_number from ${ofSkill} and v.band <> 'blocked'
        order by v.version_number desc limit 1) visible on true
      cross join lateral (
        select coalesce(visible.version_number, newest.version_number) as version_number) latest
      cross join lateral (
        select v.* from ${ofSkill} and v.version_number = case when wanted.version_id is null
          then coalesce(wanted.version_number, latest.version_number)
          else (select v.version_number from ${ofSkill} and v.version_id = wanted.version_id) end) v`
}

function filesOf(sql: Queryable, source: Fragment) {
  return sql`coalesce((
    select json_agg(json_build_object(
      'path', f.path, 'sha256', encode(f.sha256, 'hex'), 'mode', f.mode) order by f.path)
    from ${source}), '[]') as files`
}
