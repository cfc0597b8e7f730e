import Joi from 'joi'
import { impactByName, rulesWithCounts } from '../../jobs/rules/manifests/compat-tally.ts'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import type { CompatReportRow } from '../../sql/manifests/compat-reports.ts'
import { findReport } from '../../sql/manifests/compat-reports.ts'
import { nullable, times } from '../fields.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { findVisibleManifest } from './manifest.ts'

const count = Joi.number().integer()

export const reportPath = shape({ manifest_id: uuidReference(), report_id: uuidReference() })

export const verdictCountsBody = Joi.object({
  keep: count.required(),
  repair: count.required(),
  replay: count.required(),
  drop: count.required(),
}).label('CompatVerdictCounts')

export const componentImpactBody = Joi.object()
  .pattern(Joi.string(), verdictCountsBody)
  .description('By component: the traces that used it, by what it asks for')

/** Counts are null until the report is complete. */
export const reportBody = Joi.object({
  report_id: Joi.string().guid().required(),
  status: Joi.string().valid('queued', 'running', 'completed', 'failed').required(),
  agent_name: Joi.string().required(),
  old_manifest_id: Joi.string().guid().required(),
  new_manifest_id: Joi.string().guid().required(),
  trace_window_days: count.required(),
  total_episodes: nullable(count),
  keep: nullable(count),
  repair: nullable(count),
  replay: nullable(count),
  drop: nullable(count),
  needs_review: nullable(count),
  affected_trace_count: nullable(count),
  component_impact: nullable(componentImpactBody),
  reason_counts: nullable(Joi.object().pattern(Joi.string(), count)),
  repair_rules: nullable(listOf(Joi.object().unknown(true).label('RepairRule'))),
  policy: Joi.object({ name: Joi.string().required(), version: count.required() })
    .required()
    .label('CompatPolicy'),
  engine_version: Joi.string().required(),
  created_at: times.required(),
  computed_at: nullable(times),
  job_id: Joi.string().guid().required(),
}).label('CompatReport')

export function viewReport(report: CompatReportRow) {
  const { tally } = report
  return {
    report_id: report.id,
    status: statusOf(report),
    agent_name: report.agent_name,
    old_manifest_id: report.old_manifest_id,
    new_manifest_id: report.new_manifest_id,
    trace_window_days: report.trace_window_days,
    total_episodes: tally?.total_episodes ?? null,
    keep: tally?.keep ?? null,
    repair: tally?.repair ?? null,
    replay: tally?.replay ?? null,
    drop: tally?.drop ?? null,
    needs_review: tally?.needs_review ?? null,
    affected_trace_count: tally?.affected_trace_count ?? null,
    component_impact: tally && impactByName(tally),
    reason_counts: tally?.reason_counts ?? null,
    repair_rules: tally && rulesWithCounts(tally),
    policy: { name: report.policy_name, version: report.policy_version },
    engine_version: report.engine_version,
    created_at: report.created_at,
    computed_at: report.computed_at,
    job_id: report.job_id,
  }
}

export function statusOf({ computed_at, job_state }: CompatReportRow) {
  if (computed_at) return 'completed'
  if (job_state === 'queued') return 'queued'
  return job_state === 'running' ? 'running' : 'failed'
}

/** @throws ApiError 404 for a report that does not exist */
export async function readReport(sql: Queryable, orgId: string, id: string) {
  const report = await findReport(sql, orgId, id)
  if (!report) throw notFound('Compatibility report')
  return report
}

/** @throws ApiError 404 for a report of another manifest too */
export async function findVisibleReport(
  context: ApiContext,
  principal: Principal,
  params: { manifest_id: string; report_id: string },
) {
  const manifest = await findVisibleManifest(context, principal, params.manifest_id)
  const report = await readReport(context.sql, principal.orgId, params.report_id)
  if (report.new_manifest_id !== manifest.id) throw notFound('Compatibility report')
  return report
}
