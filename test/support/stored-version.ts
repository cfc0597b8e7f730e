import type { Sql } from '../../sql/core/db.ts'

/** Stores a ready version of a new SFT dataset `training`; returns its id. */
export async function storeVersion(
  sql: Sql,
  { orgId, projectId }: { orgId: string; projectId: string },
  rowCount: number,
) {
  const [dataset, version, job] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
  await sql`
    insert into jobs (org_id, id, project_id, kind, queue_job_id)
    values (${orgId}, ${job}, ${projectId}, 'dataset.build', ${job})`
  await sql`
    insert into datasets (org_id, project_id, id, name, dataset_type)
    values (${orgId}, ${projectId}, ${dataset}, 'training', 'sft')`
  await sql`
    insert into dataset_versions (org_id, dataset_id, id, version_number, job_id, ready_at, recipe,
      filter_hash, content_hash, row_count)
    values (${orgId}, ${dataset}, ${version}, 1, ${job}, clock_timestamp(), '{}', '', '', ${rowCount})`
  return version
}
