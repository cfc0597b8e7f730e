import { randomUUIDv7 } from 'node:crypto'
import { VIOLATION_SEVERITY } from '../../jobs/rules/manifests/violation.ts'
import type {
  Violation,
  ViolationKind,
  ViolationSeverity,
} from '../../jobs/rules/manifests/violation.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { aboutTraces } from '../traces/traces.ts'

export interface NewViolation extends Violation {
  trace_id: string
  agent_name: string
  manifest_id: string | null
  /** Start of the trace. */
  occurred_at: Date
}

export interface ViolationRow {
  id: string
  trace_id: string
  manifest_id: string | null
  version_label: string | null
  kind: ViolationKind
  severity: ViolationSeverity
  subject: string
  expected: string | null
  observed: string | null
  span_id: string | null
  occurred_at: Date
  detected_at: Date
}

/**
 * Replaces the violations of the traces: deletes what was not found again, leaves what is stored
 * already. Returns the traces that began or ceased to break their output contract.
 */
export async function replaceViolations(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
  violations: readonly NewViolation[],
) {
  const found = violations.map((violation) => ({ ...violation, id: randomUUIDv7() }))
  const changed = await tx<{ trace_id: string; kind: ViolationKind }[]>`
    with found as (
      select id, agent_name, trace_id, manifest_id, kind, severity, subject, position, expected,
        observed, span_id, occurred_at
      from json_populate_recordset(null::contract_violations, ${jsonText(found)}::text::json)
    ), gone as (
      delete from contract_violations v
      where v.org_id = ${orgId} and v.project_id = ${projectId}
        and v.trace_id = any(${traceIds}::text[])
        and not exists (
          select 1 from found f
          where f.trace_id = v.trace_id and f.kind = v.kind and f.subject = v.subject
            and f.position = v.position)
      returning v.trace_id, v.kind
    ), come as (
      insert into contract_violations (org_id, project_id, id, agent_name, trace_id, manifest_id, kind,
        severity, subject, position, expected, observed, span_id, occurred_at)
      select ${orgId}::uuid, ${projectId}::uuid, id, agent_name, trace_id, manifest_id, kind, severity,
        subject, position, expected, observed, span_id, occurred_at
      from found
      on conflict (org_id, project_id, trace_id, kind, subject, position) do nothing
      returning trace_id, kind
    )
    select trace_id, kind from gone union select trace_id, kind from come`
  return changed
    .filter(({ kind }) => kind === 'output_contract_failed')
    .map(({ trace_id }) => trace_id)
}

export interface ViolationFilter {
  readonly orgId: string
  readonly projectId: string
  readonly agentName: string
  readonly since: Date
  readonly kind?: ViolationKind | undefined
}

/** Newest first. */
export async function listViolations(
  sql: Queryable,
  filter: ViolationFilter,
  limit: number,
  offset: number,
) {
  // The versions of the agent are few, and are read once instead of one for each violation.
  return sql<ViolationRow[]>`
    with versions as materialized (
      select id, version_number from manifests
      where org_id = ${filter.orgId} and project_id = ${filter.projectId}
        and agent_name = ${filter.agentName})
    select v.id, v.trace_id, v.manifest_id, 'v' || m.version_number as version_label, v.kind,
      v.severity, v.subject, v.expected, v.observed, v.span_id, v.occurred_at, v.detected_at
    from contract_violations v
    left join versions m on m.id = v.manifest_id
    where ${matching(sql, filter)} ${filter.kind ? sql`and v.kind = ${filter.kind}` : sql``}
    order by v.occurred_at desc, v.id desc limit ${limit} offset ${offset}`
}

/** Counts by kind in the window, of each no further than `limit`; the filter by kind does not apply. */
export async function countViolations(sql: Queryable, filter: ViolationFilter, limit: number) {
  const rows = await sql<{ kind: ViolationKind; n: number }[]>`
    select kind, n from unnest(${Object.keys(VIOLATION_SEVERITY)}::text[]) as kinds (kind)
    cross join lateral (
      select count(*)::int as n from (
        select from contract_violations v where ${matching(sql, filter)} and v.kind = kinds.kind
        limit ${limit}) found) counted
    where n > 0 order by kind`
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]))
}

/** Traces whose final output broke the output contract, and how. */
export async function listBrokenOutputs(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<{ trace_id: string; subject: string }[]>`
    select distinct trace_id, subject from contract_violations
    where ${aboutTraces(sql, orgId, projectId, traceIds)}
      and kind = 'output_contract_failed'`
}

function matching(sql: Queryable, filter: ViolationFilter) {
  return sql`v.org_id = ${filter.orgId} and v.project_id = ${filter.projectId}
    and v.agent_name = ${filter.agentName} and v.occurred_at >= ${filter.since}`
}
