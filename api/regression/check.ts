import { OPEN_JOB_STATES } from '../../jobs/rules/jobs/job-state.ts'
import type { CheckFindings } from '../../jobs/rules/regression/check-findings.ts'
import { shape, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findCheck } from '../../sql/regression/checks.ts'
import type { CheckRow } from '../../sql/regression/checks.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'

export const checkPath = shape({ check_id: uuidReference() })

/** A check as clients see it: always with all members, but without an id in a dry run. */
export function viewCheck(check: ShownCheck) {
  const found: Partial<CheckFindings> = check.findings ?? {}
  return {
    ...(check.id !== null && { id: check.id }),
    project_id: check.project_id,
    agent_name: check.agent_name,
    baseline_manifest_id: check.baseline_manifest_id,
    candidate_manifest_id: check.candidate_manifest_id,
    status: statusOf(check),
    verdict: found.verdict ?? null,
    verdict_message: found.verdict_message ?? null,
    structural_severity: found.structural_severity ?? null,
    human_summary: found.human_summary ?? null,
    high_risk_count: found.high_risk_count ?? null,
    medium_risk_count: found.medium_risk_count ?? null,
    low_risk_count: found.low_risk_count ?? null,
    total_traces_analyzed: found.total_traces_analyzed ?? null,
    diff_summary: found.diff_summary ?? null,
    pr_context: check.pr_context,
    error_message: statusOf(check) === 'failed' ? (check.job_error?.message ?? 'Canceled') : null,
    created_at: check.created_at,
    eval_verdict: found.eval_verdict ?? null,
    eval_breakdown: found.eval_breakdown ?? null,
    downstream_impact: found.downstream_impact ?? null,
    call_replay: check.call_replay,
    source: check.source,
    baseline_manifest_label: check.baseline_version === null ? null : `v${check.baseline_version}`,
    baseline_manifest_hash: check.baseline_hash,
    candidate_manifest_label: `v${check.candidate_version}`,
    candidate_manifest_hash: check.candidate_hash,
    human_decision: check.human_decision,
    impacts: found.impacts ?? null,
    compat_summary: found.compat_summary ?? null,
    verdicts_by_score: found.verdicts_by_score ?? null,
    affected_trace_count: found.affected_trace_count ?? null,
    metrics: found.metrics ?? null,
    warnings: found.warnings ?? null,
    data_fingerprint: found.data_fingerprint ?? null,
    decision_note: check.decision_note,
    decided_at: check.decided_at,
    job_id: check.job_id,
  }
}

/** @throws ApiError 404 for a check that does not exist */
export async function readCheck(sql: Queryable, orgId: string, id: string) {
  const check = await findCheck(sql, orgId, id)
  if (!check) throw notFound('Regression check')
  return check
}

/** @throws ApiError 404 for a check that does not exist and for one the caller may not see, alike */
export async function findVisibleCheck({ sql }: ApiContext, principal: Principal, id: string) {
  const check = await readCheck(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!maySee(visible, check.project_id)) throw notFound('Regression check')
  return check
}

function statusOf({ findings, job_state }: ShownCheck) {
  if (findings) return 'completed'
  return job_state !== null && OPEN.has(job_state) ? 'running' : 'failed'
}

const OPEN: ReadonlySet<string> = new Set(OPEN_JOB_STATES)

/** A check, or a dry run of one. */
export type ShownCheck = Omit<CheckRow, 'id'> & { id: string | null }
