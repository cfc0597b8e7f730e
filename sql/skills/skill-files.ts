import type { Queryable, Transaction } from '../core/db.ts'

/** A file of a version beside its SKILL.md, without its content. */
export interface SkillFileRow {
  /** The id of an attachment. */
  id: string
  version_id: string
  /** Relative, with slashes; unique in the version under case folding. */
  path: string
  sha256: Buffer
  mode: '0644' | '0755'
  size_bytes: number
  content_type: string
  created_at: Date
}

/** The files of these versions, by path in byte order. */
export async function listFiles(sql: Queryable, orgId: string, versionIds: readonly string[]) {
  return sql<SkillFileRow[]>`
    select id, version_id, path, sha256, mode, size_bytes, content_type, created_at
    from skill_version_files
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
