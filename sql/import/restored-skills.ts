import { arrayText, byteaText } from '../core/array-text.ts'
import type { Transaction } from '../core/db.ts'
import type { ImportKey } from './import-parts.ts'

/**
 * Makes versions those of a restore that others made which failed or were canceled: the files that are missing come
 * with it.
 */
export async function adoptVersions(
  tx: Transaction,
  orgId: string,
  jobId: string,
  versions: readonly {
    readonly skillId: string
    readonly number: number
    /** Of the body, as the database writes bytes. */
    readonly sha256: string
  }[],
) {
  await tx`
    update skill_versions v set restored_by = ${jobId}
    from unnest(${versions.map(({ skillId }) => skillId)}::uuid[],
      ${versions.map(({ number }) => number)}::int[],
      ${versions.map(({ sha256 }) => sha256)}::text[]) as w (skill_id, version_number, sha256), jobs j
    where v.org_id = ${orgId} and v.skill_id = w.skill_id and v.version_number = w.version_number
      and v.body_sha256 = w.sha256::bytea
      and j.org_id = v.org_id and j.id = v.restored_by and j.state in ('failed', 'canceled')`
}

/**
 * Those of these versions that a restore may bring files of: it has made or adopted them, and nobody has changed,
 * reviewed or published them since. What a review or an installation relies on stays as it was.
 * @param jobId of the restore
 */
export async function listOpenVersions(
  tx: Transaction,
  orgId: string,
  jobId: string,
  versionIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select v.id from skill_versions v
    where v.org_id = ${orgId} and v.id = any(${versionIds as string[]}::uuid[])
      and v.restored_by = ${jobId}
      and not exists (select from skill_reviews r where r.org_id = v.org_id and r.version_id = v.id)
      and not exists (
        select from registry_versions p join registry_skills k on k.skill_id = p.skill_id
        where p.version_id = v.id and k.org_id = v.org_id)`
  return new Set(rows.map(({ id }) => id))
}

/** Files were brought of these versions of locked skills: no scan of them counts any more. */
export async function voidScans(tx: Transaction, orgId: string, versionIds: readonly string[]) {
  await tx`
    with voided as (
      delete from skill_scans
      where org_id = ${orgId} and version_id = any(${versionIds as string[]}::uuid[])
    )
    update skills k set scanner_version = 0
    from skill_versions v
    where v.org_id = ${orgId} and v.id = any(${versionIds as string[]}::uuid[])
      and k.org_id = v.org_id and k.id = v.skill_id`
}

/** Deletes those of these skills that have no version, and returns their names. */
export async function deleteVersionless(
  tx: Transaction,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ name: string }[]>`
    delete from skills s
    where s.org_id = ${orgId} and s.id = any(${ids as string[]}::uuid[]) and not exists (
      select from skill_versions v where v.org_id = s.org_id and v.skill_id = s.id)
    returning s.name`
  return new Set(rows.map(({ name }) => name))
}

/** A skill of a backup that waits for a version. */
export interface WaitingSkill {
  readonly name: string
  readonly line: number
  /** A JSON list of the members of its line, boxed. */
  readonly content: Uint8Array
}

/** Keeps skills until a version of them comes. */
export async function stageSkills(
  tx: Transaction,
  { orgId, importId }: ImportKey,
  chunkNo: number,
  skills: readonly WaitingSkill[],
) {
  if (skills.length === 0) return
  const contents = arrayText(skills.map(({ content }) => byteaText(content)))
  await tx`
    insert into import_parts (org_id, import_id, trace_id, span_id, chunk_no, bytes, part_count, content)
    select ${orgId}, ${importId}, name, line, ${chunkNo}, octet_length(content), 1, content
    from unnest(${skills.map(({ name }) => name)}::text[],
      ${skills.map(({ line }) => String(line))}::text[], ${contents}::text::bytea[])
      as s (name, line, content)`
}

/** Those of these skills that wait. */
export async function listWaitingSkills(
  tx: Transaction,
  { orgId, importId }: ImportKey,
  names: readonly string[],
) {
  return tx<WaitingSkill[]>`
    select p.trace_id as name, p.span_id::float8 as line, p.content from import_parts p
    where ${isWaiting(tx, { orgId, importId })} and p.trace_id = any(${names as string[]}::text[])
    order by p.span_id::bigint`
}

/** Lines of the skills that still wait, at most `limit`. */
export async function listVersionlessLines(tx: Transaction, key: ImportKey, limit: number) {
  const rows = await tx<{ line: number }[]>`
    select p.span_id::float8 as line from import_parts p
    where ${isWaiting(tx, key)} order by p.span_id::bigint limit ${limit}`
  return rows.map(({ line }) => line)
}

function isWaiting(tx: Transaction, { orgId, importId }: ImportKey) {
  return tx`p.org_id = ${orgId} and p.import_id = ${importId} and not exists (
    select from skills s
    where s.org_id = p.org_id and s.name = p.trace_id and s.deleted_at is null)`
}
