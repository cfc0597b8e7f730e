import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { CheckFindings, CheckVerdict } from '../../jobs/rules/regression/check-findings.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import type { JobError } from '../jobs/jobs.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { CallReplay } from '../../jobs/rules/regression/call-replay.ts'
import type { AgentKey, ManifestRow } from '../manifests/manifests.ts'
import { ofManifest } from '../traces/traces.ts'

export interface CheckRow {
  id: string
  project_id: string
  agent_name: string
  candidate_manifest_id: string
  baseline_manifest_id: string | null
  job_id: string
  trace_window_days: number
  source: string | null
  pr_context: Readonly<Record<string, unknown>> | null
  /** Null, like `completed_at`, until the check is complete. */
  findings: CheckFindings | null
  call_replay: CallReplay | null
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
 * The default baseline of a candidate: the active version, or when that is the candidate the one active
 * before it. Where none was ever active, the nearest ancestor with traces, else the nearest, that nobody
 * rejected; else the candidate of the first check. Null where there is none.
 */
export async function findBaselineId(sql: Queryable, agent: AgentKey, candidate: ManifestRow) {
  const [row] = await sql<{ id: string | null }[]>`
    with recursive ancestors as (
      select id, parent_manifest_id, 1 as distance from manifests
      where org_id = ${agent.orgId} and id = ${candidate.parent_manifest_id}
      union all
      select m.id, m.parent_manifest_id, a.distance + 1
      from ancestors a join manifests m on m.org_id = ${agent.orgId} and m.id = a.parent_manifest_id
    )
    select coalesce(
      (select manifest_id from manifest_activations
        where ${ofAgent(sql, agent)} and manifest_id <> ${candidate.id}
        order by ordinal desc limit 1),
      (select id from ancestors a
        where not ${isRejected(sql, agent, sql`a.id`)}
        order by exists (select from traces t
            where ${ofAgent(sql, agent)} and ${ofManifest(sql, agent.orgId, sql`a.id`)}) desc,
          distance limit 1),
      (select manifest_id from regression_baselines b
        where ${ofAgent(sql, agent)} and not ${isRejected(sql, agent, sql`b.manifest_id`)})) as id`
  return row?.id ?? null
}

function isRejected(sql: Queryable, { orgId }: AgentKey, manifestId: Fragment) {
  return sql`exists (select from regression_checks r
    where r.org_id = ${orgId} and r.candidate_manifest_id = ${manifestId}
      and r.human_decision = 'rejected')`
}

/** Keeps the candidate of a check that had no baseline as the one of checks that have none either. */
export async function registerBaseline(
  tx: Transaction,
  agent: AgentKey,
  { manifestId, checkId }: { manifestId: string; checkId: string },
) {
  await tx`
    insert into regression_baselines as b (org_id, project_id, agent_name, manifest_id, check_id)
    values (${agent.orgId}, ${agent.projectId}, ${agent.agentName}, ${manifestId}, ${checkId})
    on conflict (org_id, project_id, agent_name) do update
      set manifest_id = excluded.manifest_id, check_id = excluded.check_id, registered_at = now()`
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
