import type { CompatDecision } from '../../jobs/rules/manifests/compat-decision.ts'
import type { Fit } from '../../jobs/rules/evals/fit.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'

/** How a trace fits the active manifest; null members where that is its own, or there is none. */
export interface ExaminationRow {
  trace_id: string
  is_searched: boolean
  target_manifest_id: string | null
  decision: CompatDecision | null
  /** It ended the thread that examines traces, and is not to be opened there again. */
  given_up: boolean
}

/**
 * Stores examinations, and returns the traces whose fit has changed. A trace that was searched once
 * stays marked as searched.
 */
export async function upsertExaminations(
  tx: Transaction,
  orgId: string,
  projectId: string,
  rows: readonly ExaminationRow[],
) {
  // The rules are found anew where a trace is repaired; all of a page would be too large for one text.
  const flat = rows.map(({ decision, ...row }) => {
    if (!decision) return row
    const { verdict, needs_review, reasons } = decision
    return { ...row, verdict, needs_review, reasons, repair_rules: [] }
  })
  const changed = await tx<{ trace_id: string; is_new: boolean; verdict: string | null }[]>`
    insert into trace_examinations as e (org_id, project_id, trace_id, is_searched,
      target_manifest_id, verdict, needs_review, reasons, repair_rules, given_up)
    select ${orgId}, ${projectId}, trace_id, is_searched, target_manifest_id, verdict, needs_review,
      reasons, repair_rules, given_up
    from json_populate_recordset(null::trace_examinations, ${jsonText(flat)}::text::json)
    on conflict (org_id, project_id, trace_id) do update set
      is_searched = e.is_searched or excluded.is_searched,
      target_manifest_id = excluded.target_manifest_id, verdict = excluded.verdict,
      needs_review = excluded.needs_review, reasons = excluded.reasons,
      repair_rules = excluded.repair_rules, given_up = excluded.given_up, examined_at = now()
    where (e.target_manifest_id, e.verdict, e.needs_review, e.reasons) is distinct from
        (excluded.target_manifest_id, excluded.verdict, excluded.needs_review, excluded.reasons)
      or excluded.is_searched and not e.is_searched or excluded.given_up and not e.given_up
    returning trace_id, xmax = 0 as is_new, verdict`
  return changed
    .filter(({ is_new, verdict }) => !is_new || verdict !== null)
    .map(({ trace_id }) => trace_id)
}

/** Those of these traces that were never searched for violations. */
export async function listUnsearched(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const unsearched = await sql<{ trace_id: string }[]>`
    select t.trace_id from unnest(${traceIds}::text[]) as t (trace_id)
    where not exists (
      select 1 from trace_examinations e
      where e.org_id = ${orgId} and e.project_id = ${projectId} and e.trace_id = t.trace_id
        and e.is_searched)`
  return unsearched.map(({ trace_id }) => trace_id)
}

/**
 * How traces fit the manifest that is active for their agent now. A trace without a manifest, or not
 * compared with that one yet, has no entry.
 */
export async function listFits(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<(Fit & { trace_id: string })[]>`
    select t.trace_id, a.id as target_manifest_id, coalesce(e.verdict, 'keep') as verdict,
      coalesce(e.needs_review, false) as needs_review, coalesce(e.reasons, '[]') as reasons
    from traces t
    join manifests a on a.org_id = t.org_id and a.project_id = t.project_id
      and a.agent_name = t.agent_name and a.status = 'active'
    left join trace_examinations e on e.org_id = t.org_id and e.project_id = t.project_id
      and e.trace_id = t.trace_id and e.target_manifest_id = a.id
    where ${ofTraces(sql, orgId, projectId, traceIds, sql`t.`)}
      and t.manifest_id is not null and (t.manifest_id = a.id or e.verdict is not null)`
}
