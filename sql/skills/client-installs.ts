import { byteaText } from '../core/array-text.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

/** What an installation of a client holds of a skill. */
export interface HeldSkill {
  readonly name: string
  /** SHA-256 of the body. */
  readonly sha256: Buffer
}

/** Of a held skill, what is stored beside it. */
export interface HeldState {
  name: string
  /** Number of the newest version; null where there is no such skill. */
  newest: number | null
  /** Number of the newest version that has the body; null where none has. */
  held: number | null
  /** Number of the stored version that this installation held last; null where it never told. */
  base: number | null
}

/** What is stored beside the skills that an installation holds, in any order. */
export async function compareHeld(
  sql: Queryable,
  orgId: string,
  installId: string,
  skills: readonly HeldSkill[],
) {
  const told = skills.map(({ name, sha256 }) => ({ name, sha256: byteaText(sha256) }))
  return sql<HeldState[]>`
    select told.name, newest.version_number as newest, held.version_number as held,
      i.version_number as base
    from json_to_recordset(${jsonText(told)}::text::json) told(name text, sha256 bytea)
      left join skills s on s.org_id = ${orgId} and s.name = told.name and s.deleted_at is null
      left join lateral (
        select version_number from skill_versions v where v.org_id = ${orgId} and v.skill_id = s.id
        order by version_number desc limit 1) newest on true
      left join lateral (
        select version_number from skill_versions v
        where v.org_id = ${orgId} and v.skill_id = s.id and v.body_sha256 = told.sha256
        order by version_number desc limit 1) held on true
      left join client_installs i
        on i.org_id = ${orgId} and i.install_id = ${installId} and i.skill_name = told.name`
}

/** Notes what an installation holds; a body that no version has leaves the version that it held last. */
export async function noteHeld(
  sql: Queryable,
  orgId: string,
  installId: string,
  skills: readonly { readonly name: string; readonly version: number | null }[],
) {
  await sql`
    insert into client_installs (org_id, install_id, skill_name, version_number)
    select ${orgId}, ${installId}, told.name, told.version
    from json_to_recordset(${jsonText(skills)}::text::json) told(name text, version int)
    order by told.name
    on conflict (org_id, install_id, skill_name) do update
    set version_number = coalesce(excluded.version_number, client_installs.version_number),
      reported_at = excluded.reported_at`
}
