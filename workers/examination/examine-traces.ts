import type { ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listStoredManifests } from '../../sql/manifests/manifest-components.ts'
import { findActiveManifests, holdAgents } from '../../sql/manifests/manifests.ts'
import type { StoredManifest } from '../../sql/manifests/manifest-components.ts'
import type { ExaminationRow } from '../../sql/manifests/trace-examinations.ts'
import { examine } from './examiner.ts'
import type { Run } from '../runtime/handler.ts'
import type { Examination, ExaminationRequest } from './examination.ts'

export interface ExaminedTrace extends Examination {
  readonly trace: ClosedTraceRow
  readonly manifest: StoredManifest | null
  /** The manifest it was compared with; null where that is its own, or the trace has none. */
  readonly target: StoredManifest | null
}

/** Examines traces of any agents, each against the manifest that is active for its agent. */
export async function examineTraces(
  run: Pick<Run, 'sql' | 'log' | 'meter' | 'orgId'>,
  traces: readonly ClosedTraceRow[],
  wants: ExaminationRequest['wants'],
): Promise<ExaminedTrace[]> {
  const ids = traces
    .flatMap((t) => [t.manifest_id, t.active_manifest_id])
    .filter((id) => id !== null)
  const stored = await listStoredManifests(run.sql, run.orgId, [...new Set(ids)])
  const manifests = new Map(stored.map((manifest) => [manifest.id, manifest]))
  const groups = Map.groupBy(traces, (t) => `${t.manifest_id} ${t.active_manifest_id}`)
  const examined = [...groups.values()].map(async (group) => {
    const [first] = group
    const manifest = manifests.get(first?.manifest_id ?? '') ?? null
    const active = manifests.get(first?.active_manifest_id ?? '') ?? null
    const target = manifest && active !== manifest ? active : null
    const examinations = await examine(run, { manifest, target, wants, traces: group })
    return group.map((trace, i) => {
      const examination = examinations[i]
      if (!examination) throw new TypeError('A trace was not examined')
      return { ...examination, trace, manifest, target }
    })
  })
  return (await Promise.all(examined)).flat()
}

/** How a trace fits, as it is stored. */
export function examinationRow(
  { compatibility, target, trace, given_up }: ExaminedTrace,
  is_searched: boolean,
): ExaminationRow {
  return {
    trace_id: trace.trace_id,
    is_searched,
    target_manifest_id: compatibility && target ? target.id : null,
    decision: compatibility,
    given_up,
  }
}

/** Holds the agents of traces, and returns whether their active manifests are those in the rows. */
export async function holdActive(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traces: readonly ClosedTraceRow[],
) {
  const agents = new Map(traces.map((t) => [t.agent_name, t.active_manifest_id]))
  await holdAgents(
    tx,
    [...agents.keys()].map((agentName) => ({ projectId, agentName })),
  )
  const active = await findActiveManifests(tx, orgId, projectId, [...agents.keys()])
  return [...agents].every(([agent, id]) => (active.get(agent) ?? null) === id)
}
