import {
  COMPAT_ENGINE_VERSION,
  DEFAULT_COMPAT_POLICY,
  TRACE_WINDOW_DAYS,
} from '../../jobs/rules/manifests/compat-policy.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { CompatTally } from '../../jobs/rules/manifests/compat-tally.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'

export interface CompatReportRow {
  id: string
  project_id: string
  agent_name: string
  old_manifest_id: string
  new_manifest_id: string
  job_id: string
  trace_window_days: number
  window_start: Date
  window_end: Date
  policy_name: string
  policy_version: number
  engine_version: string
  /** Null, like `computed_at`, until the report is complete. */
  tally: CompatTally | null
  created_at: Date
  computed_at: Date | null
  /** Null when the job has been forgotten. */
  job_state: JobState | null
}

export type NewCompatReport = Pick<
  CompatReportRow,
  | 'id'
  | 'project_id'
  | 'agent_name'
  | 'old_manifest_id'
  | 'new_manifest_id'
  | 'job_id'
  | 'trace_window_days'
>

/** The window ends at `now`. */
export async function insertReport(
  sql: Queryable,
  orgId: string,
  report: NewCompatReport,
  now: Date,
) {
  const start = new Date(now.getTime() - report.trace_window_days * DAY_MS)
  await sql`
    insert into compat_reports (org_id, project_id, id, agent_name, old_manifest_id, new_manifest_id,
      job_id, trace_window_days, window_start, window_end, policy_name, policy_version, engine_version)
    values (${orgId}, ${report.project_id}, ${report.id}, ${report.agent_name},
      ${report.old_manifest_id}, ${report.new_manifest_id}, ${report.job_id},
      ${report.trace_window_days}, ${start}, ${now}, ${DEFAULT_COMPAT_POLICY.name},
      ${DEFAULT_COMPAT_POLICY.version}, ${COMPAT_ENGINE_VERSION})`
}

export async function findReport(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<CompatReportRow[]>`
    select ${columns(sql)} from ${withJob(sql)} where r.org_id = ${orgId} and r.id = ${id}`
  return row
}

/** The newest report of a pair over the usual window that is complete or being made. */
export async function findUsualReport(
  sql: Queryable,
  orgId: string,
  oldManifestId: string,
  newManifestId: string,
) {
  const [row] = await sql<CompatReportRow[]>`
    select ${columns(sql)} from ${withJob(sql)}
    where r.org_id = ${orgId} and r.new_manifest_id = ${newManifestId}
      and r.old_manifest_id = ${oldManifestId} and r.trace_window_days = ${TRACE_WINDOW_DAYS}
      and (r.computed_at is not null or j.finished_at is null and j.id is not null)
    order by r.created_at desc, r.id desc limit 1`
  return row
}

/** The reports of a new manifest, newest first. */
export async function listReports(
  sql: Queryable,
  orgId: string,
  newManifestId: string,
  page: { limit: number; offset: number; before?: AgeKey | undefined },
) {
  return sql<CompatReportRow[]>`
    select ${columns(sql)} from ${withJob(sql)}
    where r.org_id = ${orgId} and r.new_manifest_id = ${newManifestId}
      ${isOlder(sql, sql`(r.created_at, r.id)`, page.before)}
    order by r.created_at desc, r.id desc limit ${page.limit} offset ${page.offset}`
}

/** How many reports a new manifest has, counted no further than `limit`. */
export async function countReports(
  sql: Queryable,
  orgId: string,
  newManifestId: string,
  limit: number,
) {
  const reports = sql`compat_reports where org_id = ${orgId} and new_manifest_id = ${newManifestId}`
  return countUpTo(sql, limit, reports)
}

/** Idempotent, since the tally of a report follows from its episodes. */
export async function completeReport(
  sql: Queryable,
  orgId: string,
  id: string,
  tally: CompatTally,
) {
  await sql`
    update compat_reports set tally = ${jsonText(tally)}::text::jsonb, computed_at = now()
    where org_id = ${orgId} and id = ${id}`
}

function withJob(sql: Queryable) {
  return sql`compat_reports r left join jobs j on j.org_id = r.org_id and j.id = r.job_id`
}

function columns(sql: Queryable) {
  return sql`r.id, r.project_id, r.agent_name, r.old_manifest_id, r.new_manifest_id, r.job_id,
    r.trace_window_days, r.window_start, r.window_end, r.policy_name, r.policy_version,
    r.engine_version, r.tally, r.created_at, r.computed_at, j.state as job_state`
}
