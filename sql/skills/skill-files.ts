import type { VersionFile } from '../../jobs/rules/skills/version-files.ts'
import { byteaText } from '../core/array-text.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'

/** A file of a version beside its SKILL.md, without its content. */
export interface SkillFileRow extends VersionFile {
  /** The id of an attachment, the same in the versions that follow. */
  readonly id: string
  readonly version_id: string
  /** When the path was first attached. */
  readonly created_at: Date
}

/** The files of these versions, by path in byte order. */
export async function listFiles(sql: Queryable, orgId: string, versionIds: readonly string[]) {
  return sql<SkillFileRow[]>`
    select ${columns(sql)} from skill_version_files
    where org_id = ${orgId} and version_id = any(${versionIds as string[]}::uuid[])
    order by version_id, path`
}

/** Gives each version in `to` the files of the one beside it in `from`. Ids of attachments stay. */
export async function copyFiles(
  tx: Transaction,
  orgId: string,
  from: readonly string[],
  to: readonly string[],
) {
  await tx`
    insert into skill_version_files (org_id, version_id, path, id, sha256, mode, size_bytes,
      content_type, created_at)
    select f.org_id, pair.target, f.path, f.id, f.sha256, f.mode, f.size_bytes, f.content_type,
      f.created_at
    from unnest(${from as string[]}::uuid[], ${to as string[]}::uuid[]) pair(source, target)
      join skill_version_files f on f.org_id = ${orgId} and f.version_id = pair.source`
}

/** @param by its id or its path */
export async function findFile(
  sql: Queryable,
  orgId: string,
  versionId: string,
  by: { readonly id: string } | { readonly path: string },
) {
  const [row] = await sql<SkillFileRow[]>`
    select ${columns(sql)} from skill_version_files
    where org_id = ${orgId} and version_id = ${versionId}
      and ${'id' in by ? sql`id = ${by.id}` : sql`path = ${by.path}`}`
  return row
}

/** Inserts files, or replaces those of the same paths, which keep their ids. Their blobs have to exist. */
export async function upsertFiles(
  tx: Transaction,
  orgId: string,
  versionId: string,
  files: readonly (VersionFile & { readonly id: string })[],
) {
  const rows = files.map(({ sha256, ...file }) => ({ ...file, sha256: byteaText(sha256) }))
  await tx`
    insert into skill_version_files (org_id, version_id, path, id, sha256, mode, size_bytes,
      content_type)
    select ${orgId}, ${versionId}, path, id, sha256, mode, size_bytes, content_type
    from json_populate_recordset(null::skill_version_files, ${jsonText(rows)}::text::json)
    on conflict (org_id, version_id, path) do update
    set sha256 = excluded.sha256, mode = excluded.mode, size_bytes = excluded.size_bytes,
      content_type = excluded.content_type`
}

/** Deletes the files of these paths. */
export async function deleteFiles(
  tx: Transaction,
  orgId: string,
  versionId: string,
  paths: readonly string[],
) {
  await tx`
    delete from skill_version_files
    where org_id = ${orgId} and version_id = ${versionId} and path = any(${paths as string[]}::text[])`
}

function columns(sql: Queryable) {
  return sql`id, version_id, path, sha256, mode, size_bytes, content_type, created_at`
}
