import type { VersionFile } from '../../jobs/rules/skills/version-files.ts'
import type { Queryable } from '../core/db.ts'

/** A file of a public version beside its SKILL.md. */
export interface RegistryFileRow extends VersionFile {
  readonly id: string
  readonly content: Buffer
}

/** A version of a public skill. */
export interface RegistryVersionKey {
  readonly skill_id: string
  readonly version_number: number
}

/**
 * The files of a version by path in byte order, with their contents as far as the first of them have
 * `maxBytes` together; null for those after.
 */
export async function listRegistryFiles(
  sql: Queryable,
  { skill_id, version_number }: RegistryVersionKey,
  maxBytes: number,
) {
  return sql<(Omit<RegistryFileRow, 'content'> & { content: Buffer | null })[]>`
    select id, path, sha256, mode, size_bytes, content_type,
      case when sum(size_bytes) over (order by path) <= ${maxBytes} then content end as content
    from registry_files where skill_id = ${skill_id} and version_number = ${version_number}
    order by path`
}

/** @param id of the attachment, the same in all versions that have it */
export async function findRegistryFile(
  sql: Queryable,
  { skill_id, version_number }: RegistryVersionKey,
  id: string,
) {
  const [row] = await sql<RegistryFileRow[]>`
    select id, path, sha256, mode, size_bytes, content_type, content from registry_files
    where skill_id = ${skill_id} and version_number = ${version_number} and id = ${id}`
  return row
}
