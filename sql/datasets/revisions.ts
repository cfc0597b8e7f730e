import type { Queryable } from '../core/db.ts'
import type { Selection } from './trace-filters.ts'

/**
 * Joins to trace `t` with verdict `v` the revision that stands for its content, as `revised.repair`
 * with the `bytes` of it: the one made of what the trace is now for the manifest that the verdict
 * speaks of, where calls that do not fit it are a reason to repair the trace.
 *
 * Only rows of type sft take it. Scores are of what was recorded, so kto labels that and pairs compare
 * that; and what was dropped for its scores stays as it was recorded, so good examples with new names
 * beside bad ones with old names would teach the names.
 */
export function usedRevision(sql: Queryable, { recipe }: Selection) {
  if (recipe.dataset_type !== 'sft') {
    return sql`cross join (select null::json as repair, null::int as bytes) revised`
  }
  return sql`left join lateral (
    select json_build_object('batch_id', x.batch_id, 'target_manifest_id', x.target_manifest_id,
      'target_manifest_hash', substr(g.manifest_hash, 8), 'rules', x.rules,
      'content_hash', encode(x.content_hash, 'hex')) as repair,
      octet_length(x.content) as bytes
    from trace_revisions x join manifests g on g.org_id = x.org_id and g.id = x.target_manifest_id
    where v.verdict = 'repair' and v.reasons @? '$[*] ? (@.code starts with "compat.")'
      and x.org_id = t.org_id and x.project_id = t.project_id and x.trace_id = t.trace_id
      and x.target_manifest_id = v.target_manifest_id and x.trace_revision = t.revision) revised on true`
}
