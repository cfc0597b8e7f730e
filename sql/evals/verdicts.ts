import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { Decision, Reason } from '../../jobs/rules/evals/verdict.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { isSameTrace, ofTraces } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

/** The current decision on a trace. */
export interface VerdictRow extends Decision {
  trace_id: string
  counterfactual: string | null
  /** The older trace with the same conversation. */
  duplicate_of: string | null
  /** '' for the project's own policy; version 0 is the default where none was set. */
  policy_agent_name: string
  policy_version: number
  target_manifest_id: string | null
}

export type StoredVerdict = Omit<VerdictRow, 'duplicate_of' | 'reasons' | 'verdict'> & {
  verdict: Verdict
  reasons: Reason[]
  /** The preset the policy was made from. */
  policy_preset: string
  decided_at: Date
}

/** Stores decisions, one a trace, and returns the ids of the traces whose decision has changed. */
export async function upsertVerdicts(
  sql: Queryable,
  orgId: string,
  projectId: string,
  rows: readonly VerdictRow[],
) {
  const changed = await sql<{ trace_id: string }[]>`
    insert into verdicts as v (org_id, project_id, period, trace_id, agent_name, started_at, verdict,
      needs_review, quality_avg, compat_avg, eval_verdict, reason_code, reasons, counterfactual,
      duplicate_of, policy_agent_name, policy_version, target_manifest_id)
    select ${orgId}, ${projectId}, t.period, t.trace_id, t.agent_name, t.started_at, d.verdict,
      d.needs_review, d.quality_avg, d.compat_avg, d.eval_verdict, d.reasons -> 0 ->> 'code', d.reasons,
      d.counterfactual, d.duplicate_of, d.policy_agent_name, d.policy_version, d.target_manifest_id
    from json_populate_recordset(null::verdicts, ${jsonText(rows)}::text::json) as d
    join trace_ids k on k.org_id = ${orgId} and k.project_id = ${projectId} and k.trace_id = d.trace_id
    join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
    on conflict (org_id, project_id, trace_id, period) do update set
      verdict = excluded.verdict, needs_review = excluded.needs_review,
      quality_avg = excluded.quality_avg, compat_avg = excluded.compat_avg,
      eval_verdict = excluded.eval_verdict, reason_code = excluded.reason_code, reasons = excluded.reasons,
      counterfactual = excluded.counterfactual, duplicate_of = excluded.duplicate_of,
      policy_agent_name = excluded.policy_agent_name, policy_version = excluded.policy_version,
      target_manifest_id = excluded.target_manifest_id, decided_at = now()
    where (v.verdict, v.needs_review, v.quality_avg, v.compat_avg, v.eval_verdict, v.reasons,
        v.counterfactual, v.duplicate_of, v.policy_agent_name, v.policy_version, v.target_manifest_id)
      is distinct from (excluded.verdict, excluded.needs_review, excluded.quality_avg,
        excluded.compat_avg, excluded.eval_verdict, excluded.reasons, excluded.counterfactual,
        excluded.duplicate_of, excluded.policy_agent_name, excluded.policy_version,
        excluded.target_manifest_id)
    returning v.trace_id`
  return changed.map(({ trace_id }) => trace_id)
}

export async function deleteVerdicts(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await sql`delete from verdicts where ${ofTraces(sql, orgId, projectId, traceIds)}`
}

/** The verdicts of those of these traces that have one, by trace id. */
export async function listDecided(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string; verdict: Verdict }[]>`
    select trace_id, verdict from verdicts where ${ofTraces(sql, orgId, projectId, traceIds)}`
  return new Map(rows.map(({ trace_id, verdict }) => [trace_id, verdict]))
}

/** Those of these traces that have no verdict, or scores or annotations that came after it. */
export async function listUnsettled(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<string[]> {
  const isLater = (time: Fragment) => sql`
    f.org_id = v.org_id and f.project_id = v.project_id and f.trace_id = v.trace_id
      and ${time} > v.decided_at`
  const settled = await sql<{ trace_id: string }[]>`
    select v.trace_id from verdicts v where ${ofTraces(sql, orgId, projectId, traceIds, sql`v.`)}
      and not exists (
        select from eval_scores f where f.period = v.period and ${isLater(sql`f.updated_at`)})
      and not exists (select from annotations f where ${isLater(sql`f.created_at`)})`
  const ids = new Set(settled.map(({ trace_id }) => trace_id))
  return traceIds.filter((id) => !ids.has(id))
}

/** Undefined for a trace that is still running or was not judged yet. */
export async function findVerdict(sql: Queryable, key: TraceKey) {
  const [row] = await listVerdicts(sql, key.org_id, key.project_id, [key.trace_id])
  return row
}

export async function listVerdicts(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<StoredVerdict[]>`
    select v.trace_id, v.verdict, v.needs_review, v.quality_avg, v.compat_avg, v.eval_verdict, v.reasons,
      v.counterfactual, v.policy_agent_name, v.policy_version, v.target_manifest_id, v.decided_at,
      coalesce(p.preset, 'default') as policy_preset
    from verdicts v
    left join decision_policies p on p.org_id = v.org_id and p.project_id = v.project_id
      and p.agent_name = v.policy_agent_name and p.version = v.policy_version
    where ${ofTraces(sql, orgId, projectId, traceIds, sql`v.`)}
    order by v.trace_id`
}
