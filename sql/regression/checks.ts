import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { CheckFindings, CheckVerdict } from '../../jobs/rules/regression/check-findings.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import type { JobError } from '../jobs/jobs.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'

export interface CheckRow {
  id: string
  project_id: string
  agent_name: string
  candidate_manifest_id: string
  baseline_manifest_id: string | null
  job_id: string
  trace_window_days: number
  source: string | null
  pr_context: object | null
  /** Null, like `completed_at`, until the check is complete. */
  findings: CheckFindings | null
  call_replay: object | null
  human_decision: 'accepted' | 'rejected' | null
  decision_note: string | null
  decided_at: Date | null
  created_at: Date
  completed_at: Date | null
  candidate_version: number
  candidate_hash: string
  baseline_version: number | null
  baseline_hash: string | null
  /** Null when the job has been forgotten. */
  job_state: JobState | null
  job_error: JobError | null
}

export type NewCheck = Pick<
  CheckRow,
  | 'id'
  | 'project_id'
  | 'agent_name'
  | 'candidate_manifest_id'
  | 'baseline_manifest_id'
  | 'job_id'
  | 'trace_window_days'
  | 'source'
  | 'pr_context'
  | 'created_at'
>

export async function insertCheck(tx: Transaction, orgId: string, check: NewCheck) {
  await tx`
    insert into regression_checks (org_id, project_id, id, agent_name, candidate_manifest_id,
      baseline_manifest_id, job_id, trace_window_days, source, pr_context, created_at,
      created_by)
    values (${orgId}, ${check.project_id}, ${check.id}, ${check.agent_name},
      ${check.candidate_manifest_id}, ${check.baseline_manifest_id}, ${check.job_id},
      ${check.trace_window_days}, ${check.source},
      ${check.pr_context && jsonText(check.pr_context)}::text::jsonb, ${check.created_at},
      (select created_by from jobs where org_id = ${orgId} and id = ${check.job_id}))`
}

/** Completes a check once; a complete one stays as it is. */
export async function completeCheck(
  tx: Transaction,
  orgId: string,
  id: string,
  findings: CheckFindings,
) {
  await tx`
    update regression_checks set verdict = ${findings.verdict},
      findings = ${jsonText(findings)}::text::jsonb, completed_at = now()
    where org_id = ${orgId} and id = ${id} and completed_at is null`
}

export async function updateDecision(
  tx: Transaction,
  orgId: string,
  id: string,
  decision: { human_decision: 'accepted' | 'rejected'; note: string | null; by: string; at: Date },
) {
  await tx`
    update regression_checks set human_decision = ${decision.human_decision},
      decision_note = ${decision.note}, decided_by = ${decision.by}, decided_at = ${decision.at}
    where org_id = ${orgId} and id = ${id}`
}

export async function updateCallReplay(
  sql: Queryable,
  orgId: string,
  id: string,
  callReplay: object,
) {
  await sql`
    update regression_checks set call_replay = ${jsonText(callReplay)}::text::jsonb
    where org_id = ${orgId} and id = ${id}`
}

export async function findCheck(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<CheckRow[]>`
    select ${columns(sql)} from ${withManifests(sql)} where r.org_id = ${orgId} and r.id = ${id}`
  return row
}

export interface CheckFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  readonly verdict?: CheckVerdict | undefined
}

/** Newest first. */
export async function listChecks(
  sql: Queryable,
  orgId: string,
  filter: CheckFilter,
  page: { limit: number; offset: number; before?: AgeKey | undefined },
) {
  return sql<CheckRow[]>`
    select ${columns(sql)} from ${withManifests(sql)}
    where ${matching(sql, orgId, filter)}
      ${isOlder(sql, sql`(r.created_at, r.id)`, page.before)}
    order by r.created_at desc, r.id desc limit ${page.limit} offset ${page.offset}`
}

/** How many match, counted no further than `limit`. */
export async function countChecks(
  sql: Queryable,
  orgId: string,
  filter: CheckFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`regression_checks r where ${matching(sql, orgId, filter)}`)
}

/**
 * The default baseline of a candidate: what an accepted check or the first one registered, else the
 * active version, else the candidate's parent. Null where there is none.
 */
export async function findBaselineId(sql: Queryable, agent: AgentKey, candidate: ManifestRow) {
  const [row] = await sql<{ registered: string | null; active: string | null }[]>`
    select (select manifest_id from regression_baselines b
        where b.org_id = ${agent.orgId} and b.project_id = ${agent.projectId}
          and b.agent_name = ${agent.agentName}) as registered,
      (select id from manifests m
        where m.org_id = ${agent.orgId} and m.project_id = ${agent.projectId}
          and m.agent_name = ${agent.agentName} and m.status = 'active'
          and m.id <> ${candidate.id}) as active`
  return row?.registered ?? row?.active ?? candidate.parent_manifest_id
}

/** @param replace whether it replaces another registered baseline */
export async function registerBaseline(
  tx: Transaction,
  agent: AgentKey,
  { manifestId, checkId, replace }: { manifestId: string; checkId: string; replace: boolean },
) {
  await tx`
    insert into regression_baselines as b (org_id, project_id, agent_name, manifest_id, check_id)
    values (${agent.orgId}, ${agent.projectId}, ${agent.agentName}, ${manifestId}, ${checkId})
    on conflict (org_id, project_id, agent_name) do update
      set manifest_id = excluded.manifest_id, check_id = excluded.check_id, registered_at = now()
      where ${replace}::boolean`
}

function matching(sql: Queryable, orgId: string, { projectIds, agentName, verdict }: CheckFilter) {
  return sql`r.org_id = ${orgId}
    ${inProjects(sql, sql`r.project_id`, projectIds)}
    ${agentName === undefined ? sql`` : sql`and r.agent_name = ${agentName}`}
    ${verdict ? sql`and r.verdict = ${verdict}` : sql``}`
}

function withManifests(sql: Queryable) {
  return sql`regression_checks r
    join manifests c on c.org_id = r.org_id and c.id = r.candidate_manifest_id
    left join manifests b on b.org_id = r.org_id and b.id = r.baseline_manifest_id
    left join jobs j on j.org_id = r.org_id and j.id = r.job_id`
}

function columns(sql: Queryable) {
  return sql`r.id, r.project_id, r.agent_name, r.candidate_manifest_id, r.baseline_manifest_id,
    r.job_id, r.trace_window_days, r.source, r.pr_context, r.findings, r.call_replay,
    r.human_decision, r.decision_note, r.decided_at, r.created_at, r.completed_at,
    c.version_number as candidate_version, c.shown_hash as candidate_hash,
    b.version_number as baseline_version, b.shown_hash as baseline_hash,
    j.state as job_state, j.error as job_error`
}
