import type { Transaction } from '../core/db.ts'

/** A manifest that became the active one of its agent in place of another. */
export interface Superseding {
  readonly orgId: string
  readonly projectId: string
  readonly manifestId: string
  readonly previousId: string
  /** The id of the API key; null for a worker. */
  readonly createdBy: string | null
}

/**
 * Notes for the changelog which datasets become stale by that: those whose current version has traces of
 * the superseded manifest, the newest `MAX_NOTED` of them. It reads which manifests the current version of
 * each dataset of the project has: some milliseconds for a thousand.
 */
export async function noteStaleness(
  tx: Transaction,
  { orgId, projectId, manifestId, previousId, createdBy }: Superseding,
) {
  await tx`
    insert into dataset_staleness_events
      (org_id, id, version_id, manifest_id, previous_manifest_id, created_by)
    select d.org_id, gen_random_uuid(), v.id, ${manifestId}, ${previousId}, ${createdBy}::uuid
    from datasets d, lateral (
      select id, manifest_ids from dataset_versions
      where org_id = d.org_id and dataset_id = d.id and ready_at is not null
      order by version_number desc limit 1) v
    where d.org_id = ${orgId} and d.project_id = ${projectId}
      and ${previousId}::uuid = any(v.manifest_ids)
    order by d.created_at desc, d.id desc limit ${MAX_NOTED}`
}

const MAX_NOTED = 100
