import type { Queryable } from '../core/db.ts'

/** Keys of uploads, among those given, whose imports have not ended. */
export async function findNeededUploads(sql: Queryable, keys: readonly string[]) {
  const rows = await sql<{ key: string }[]>`
    select storage_key as key from imports where storage_key = any(${keys}::text[])`
  return rows.map(({ key }) => key)
}

/** A file of a dataset version, whose ids its key contains. */
export interface VersionFile {
  readonly key: string
  readonly org_id: string
  readonly version_id: string
}

/** Keys of files, among those given, of versions that are ready, or that a build may be about to make so. */
export async function findNeededVersionFiles(sql: Queryable, files: readonly VersionFile[]) {
  const rows = await sql<{ key: string }[]>`
    select n.key
    from unnest(${files.map(({ key }) => key)}::text[], ${files.map(({ org_id }) => org_id)}::uuid[],
      ${files.map(({ version_id }) => version_id)}::uuid[]) as n (key, org_id, version_id)
    where exists (
        select from dataset_files f
        where f.org_id = n.org_id and f.version_id = n.version_id and f.storage_key = n.key)
      or exists (
        select from dataset_versions v join jobs j on j.org_id = v.org_id and j.id = v.job_id
        where v.org_id = n.org_id and v.id = n.version_id
          and v.ready_at is null and j.finished_at is null)`
  return rows.map(({ key }) => key)
}
