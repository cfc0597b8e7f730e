import type { CardFacts } from '../../jobs/rules/datasets/card-facts.ts'
import type { StoredRecipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import { complete, listFiles } from './versions.ts'
import type { FileRow } from './versions.ts'

/** What the card of a version tells; undefined unless the version is ready. */
export async function findCardFacts(
  sql: Queryable,
  orgId: string,
  versionId: string,
): Promise<FoundFacts | undefined> {
  const [row] = await sql<StoredFacts[]>`
    select d.name as dataset_name, d.license, d.dataset_type, v.id as version_id, v.version_number,
      v.ready_at, v.recipe, v.content_hash, v.row_count, v.token_estimate, v.split_counts,
      v.dropped_counts, v.losses, v.warnings, v.policy, v.redaction, v.composition,
      cardinality(v.manifest_ids) as manifest_count
    from dataset_versions v join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
    where v.org_id = ${orgId} and v.id = ${versionId} and v.ready_at is not null`
  if (!row) return undefined
  const [files, manifests] = await Promise.all([
    listFiles(sql, orgId, [versionId]),
    listLockedManifests(sql, orgId, versionId),
  ])
  return { ...complete(row), files, manifests }
}

/** The manifests of a version's traces, by agent and number, `MAX_MANIFESTS` at most. */
async function listLockedManifests(sql: Queryable, orgId: string, versionId: string) {
  return sql<CardFacts['manifests'][number][]>`
    select m.agent_name, m.version_number, m.display_label, m.manifest_hash
    from dataset_versions v
    join manifests m on m.org_id = v.org_id and m.id = any(v.manifest_ids)
    where v.org_id = ${orgId} and v.id = ${versionId}
    order by m.agent_name collate "C", m.version_number limit ${MAX_MANIFESTS}`
}

interface FoundFacts extends CardFacts {
  readonly files: FileRow[]
}
type StoredFacts = Omit<CardFacts, 'recipe' | 'files' | 'manifests'> & {
  readonly recipe: StoredRecipe
}

const MAX_MANIFESTS = 100
