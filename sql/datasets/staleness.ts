import type { Queryable } from '../core/db.ts'
import { countGoneTraces, MAX_SUBJECTS } from './deleted-traces.ts'
import type { VersionRow } from './versions.ts'

/** Why a version would have other rows if it were built today. */
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
  versions: readonly Pick<VersionRow, 'id' | 'ready_at' | 'manifest_ids'>[],
): Promise<ReadonlyMap<string, readonly StaleReason[]>> {
  const ready = versions.filter(({ ready_at }) => ready_at !== null)
  if (ready.length === 0) return new Map()
  const ids = new Set<string>()
  for (const { manifest_ids } of ready) for (const id of manifest_ids) ids.add(id)
  const [superseded, gone] = await Promise.all([
    findSuperseded(sql, orgId, [...ids]),
    countGoneTraces(
      sql,
      orgId,
      ready.map(({ id }) => id),
    ),
  ])
  const goneOf = new Map(gone.map((traces) => [traces.version_id, traces]))
  return new Map(
    ready.map(({ id, manifest_ids }) => [
      id,
      reasonsOf(
        manifest_ids.filter((manifest) => superseded.has(manifest)),
        goneOf.get(id),
      ),
    ]),
  )
}

function reasonsOf(manifests: readonly string[], gone: Gone | undefined): StaleReason[] {
  const reasons: StaleReason[] = []
  if (manifests.length > 0) {
    const subjects = manifests.slice(0, MAX_SUBJECTS)
    reasons.push({ code: 'manifest_superseded', count: manifests.length, subjects })
  }
  if (gone) reasons.push({ code: 'trace_deleted', count: gone.count, subjects: gone.trace_ids })
  return reasons
}

/** Those of these manifests that are not active while another one of their agent is. */
async function findSuperseded(sql: Queryable, orgId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Set<string>()
  const rows = await sql<{ id: string }[]>`
    select m.id from manifests m
    where m.org_id = ${orgId} and m.id = any(${ids}::uuid[]) and m.status = 'superseded'
      and exists (
        select from manifests a
        where a.org_id = m.org_id and a.project_id = m.project_id and a.agent_name = m.agent_name
          and a.status = 'active')`
  return new Set(rows.map(({ id }) => id))
}

type Gone = Awaited<ReturnType<typeof countGoneTraces>>[number]
