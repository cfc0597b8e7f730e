import type { CardFacts } from '../../jobs/rules/datasets/card-facts.ts'
import { completeStored } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import { listFiles } from './versions.ts'

/** What the card of a version tells; undefined unless it is ready. */
export async function findCardFacts(
  sql: Queryable,
  orgId: string,
  versionId: string,
): Promise<CardFacts | undefined> {
  const [row] = await sql<VersionFacts[]>`
    select d.name as dataset_name, d.license, d.dataset_type, v.id as version_id, v.version_number,
      v.ready_at, v.recipe, v.content_hash, v.row_count, v.token_estimate, v.split_counts,
      v.dropped_counts, v.losses, v.warnings, v.policy, v.redaction, v.manifest_ids
    from dataset_versions v join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
    where v.org_id = ${orgId} and v.id = ${versionId} and v.ready_at is not null`
  if (!row) return undefined
  const { manifest_ids: ids, ...facts } = row
  const [files, manifests] = await Promise.all([
    listFiles(sql, orgId, [versionId]),
    sql<CardFacts['manifests'][number][]>`
      select agent_name, version_number, display_label, manifest_hash from manifests
      where org_id = ${orgId} and id = any(${ids}::uuid[])
      order by agent_name, version_number limit ${MANIFESTS_NAMED}`,
  ])
  const recipe = completeStored(facts.recipe)
  return { ...facts, recipe, composition: null, files, manifests, manifest_count: ids.length }
}

type VersionFacts = Omit<CardFacts, 'composition' | 'files' | 'manifests' | 'manifest_count'> & {
  manifest_ids: string[]
}

const MANIFESTS_NAMED = 100
