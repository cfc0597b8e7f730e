import type { Arm } from '../../jobs/rules/regression/statistics.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey } from '../manifests/manifests.ts'

export type Resolution = 'recovered' | 'reverted' | 'manual'

export interface FindingRow {
  id: string
  project_id: string
  agent_name: string
  metric: string
  ordinal: number
  /** Null where no version is to blame. */
  manifest_id: string | null
  version_label: string
  previous_version_label: string | null
  candidates: string[]
  delta: number
  relative_delta: number | null
  p_value: number
  q_value: number
  trace_sample_ids: string[]
  reference: Arm
  detected_at: Date
  resolved_at: Date | null
  resolution: Resolution | null
  resolution_note: string | null
}

export type NewFinding = Omit<FindingRow, 'resolved_at' | 'resolution' | 'resolution_note'>

/** False when the activation has a finding already. */
export async function insertFinding(tx: Transaction, orgId: string, finding: NewFinding) {
  const inserted = await tx`
    insert into regression_findings (org_id, project_id, id, agent_name, metric, ordinal, manifest_id,
      version_label, previous_version_label, candidates, delta, relative_delta, p_value, q_value,
      trace_sample_ids, reference, detected_at)
    values (${orgId}, ${finding.project_id}, ${finding.id}, ${finding.agent_name}, ${finding.metric},
      ${finding.ordinal}, ${finding.manifest_id}, ${finding.version_label},
      ${finding.previous_version_label}, ${finding.candidates}, ${finding.delta},
      ${finding.relative_delta}, ${finding.p_value}, ${finding.q_value},
      ${finding.trace_sample_ids}, ${jsonText(finding.reference)}::text::jsonb,
      ${finding.detected_at})
    on conflict (org_id, project_id, agent_name, metric, ordinal) do nothing`
  return inserted.count === 1
}

/** The findings for one metric of an agent, newest version first. */
export async function listFindings(sql: Queryable, agent: AgentKey, metric: string) {
  return sql<FindingRow[]>`
    select ${columns(sql)} from regression_findings
    where ${ofAgent(sql, agent)} and metric = ${metric}
    order by ordinal desc`
}

export async function findFinding(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<FindingRow[]>`
    select ${columns(sql)} from regression_findings where org_id = ${orgId} and id = ${id}`
  return row
}

/** False when it was resolved before. */
export async function resolveFinding(
  tx: Transaction,
  orgId: string,
  id: string,
  resolved: { resolution: Resolution; note?: string | undefined; by?: string; at: Date },
) {
  const updated = await tx`
    update regression_findings set resolution = ${resolved.resolution}, resolved_at = ${resolved.at},
      resolution_note = ${resolved.note ?? null}, resolved_by = ${resolved.by ?? null}
    where org_id = ${orgId} and id = ${id} and resolved_at is null`
  return updated.count === 1
}

function columns(sql: Queryable) {
  return sql`id, project_id, agent_name, metric, ordinal, manifest_id, version_label,
    previous_version_label, candidates, delta, relative_delta, p_value, q_value, trace_sample_ids,
    reference, detected_at, resolved_at, resolution, resolution_note`
}
