import type { Candidate, Repair } from '../../jobs/rules/datasets/candidates.ts'
import type { Queryable } from '../core/db.ts'
import { aboutTraces } from '../traces/traces.ts'
import type { Selection } from './trace-filters.ts'

/** What decides whether a revision is looked for. */
export type Judged = Pick<Candidate, 'trace_id' | 'verdict' | 'reasons'> & {
  /** The manifest that the verdict speaks of. */
  readonly target_manifest_id: string | null
}

/** A revision that stands for the content of a trace. */
export interface UsedRevision {
  readonly repair: Repair
  /** The revision of the trace that it was made of. It stands for no other. */
  readonly trace_revision: number
  readonly bytes: number
}

/**
 * By trace id, the revisions for the manifests that the verdicts of these traces speak of, where calls that
 * do not fit them are a reason to repair the trace.
 *
 * Only rows of type sft take one. Scores are of what was recorded, so kto labels that and pairs compare
 * that; and what was dropped for its scores stays as it was recorded, so good examples with new names
 * beside bad ones with old names would teach the names.
 */
export async function listRevisions(
  sql: Queryable,
  { orgId, projectId, recipe }: Selection,
  traces: readonly Judged[],
) {
  const repaired = traces.filter(isOfCalls)
  if (recipe.dataset_type !== 'sft' || repaired.length === 0) return new Map<string, UsedRevision>()
  const targets = new Map(
    repaired.map(({ trace_id, target_manifest_id }) => [trace_id, target_manifest_id]),
  )
  const rows = await sql<(UsedRevision & { trace_id: string })[]>`
    select x.trace_id, x.trace_revision, octet_length(x.content) as bytes,
      json_build_object('batch_id', x.batch_id, 'target_manifest_id', x.target_manifest_id,
        'target_manifest_hash', substr(g.manifest_hash, 8), 'rules', x.rules,
        'content_hash', encode(x.content_hash, 'hex')) as repair
    from (
      select * from trace_revisions where ${aboutTraces(sql, orgId, projectId, [...targets.keys()])}) x
      join manifests g on g.org_id = x.org_id and g.id = x.target_manifest_id`
  return new Map(
    rows.flatMap((row) =>
      targets.get(row.trace_id) === row.repair.target_manifest_id
        ? [[row.trace_id, row] as const]
        : [],
    ),
  )
}

function isOfCalls({ verdict, reasons }: Judged) {
  return verdict === 'repair' && reasons.some((code) => code.startsWith('compat.'))
}
