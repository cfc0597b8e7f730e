import type { Queryable } from '../core/db.ts'
import { countGoneTraces, MAX_SUBJECTS } from './deleted-traces.ts'
import type { VersionRow } from './versions.ts'

/** Why a version is stale: its agents have moved on, or traces of its rows are gone. */
export interface StaleReason {
  /**
   * `manifest_superseded`: manifests of its traces are not active any more, and others of their agents are.
   * `trace_deleted`: traces of its rows are gone.
   */
  readonly code: 'manifest_superseded' | 'trace_deleted'
  /** How many manifests, or traces. */
  readonly count: number
  /** Ids of some of them; a trace that was deleted with its month is not among them. */
  readonly subjects: readonly string[]
}

/** The reasons of those of these versions that are ready, by id; a ready version without any has none. */
export async function findStaleReasons(
  sql: Queryable,
  orgId: string,
  versions: readonly Pick<VersionRow, 'id' | 'ready_at'>[],
): Promise<ReadonlyMap<string, readonly StaleReason[]>> {
  const ids = versions.filter(({ ready_at }) => ready_at !== null).map(({ id }) => id)
  const reasons = new Map<string, StaleReason[]>(ids.map((id) => [id, []]))
  if (ids.length === 0) return reasons
  const [superseded, gone] = await Promise.all([
    countSuperseded(sql, orgId, ids),
    countGoneTraces(sql, orgId, ids),
  ])
  for (const { version_id, count, manifest_ids: subjects } of superseded) {
    reasons.get(version_id)?.push({ code: 'manifest_superseded', count, subjects })
  }
  for (const { version_id, count, trace_ids: subjects } of gone) {
    reasons.get(version_id)?.push({ code: 'trace_deleted', count, subjects })
  }
  return reasons
}

/**
 * Of those of these versions that have any: how many of their manifests are superseded while another one
 * of their agent is active, and the first of them.
 */
async function countSuperseded(sql: Queryable, orgId: string, versionIds: readonly string[]) {
  return sql<{ version_id: string; count: number; manifest_ids: string[] }[]>`
    select v.id as version_id, count(*) as count,
      (array_agg(m.id order by used.n))[1:${MAX_SUBJECTS}] as manifest_ids
    from dataset_versions v
    cross join unnest(v.manifest_ids) with ordinality used (id, n)
    join manifests m on m.org_id = v.org_id and m.id = used.id and m.status = 'superseded'
    where v.org_id = ${orgId} and v.id = any(${versionIds}::uuid[]) and exists (
      select from manifests a
      where a.org_id = m.org_id and a.project_id = m.project_id and a.agent_name = m.agent_name
        and a.status = 'active')
    group by v.id`
}
