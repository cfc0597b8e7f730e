import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findFinding } from '../../sql/regression/findings.ts'
import type { FindingRow } from '../../sql/regression/findings.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'

export const findingBody = Joi.object({
  id: Joi.string().guid().required(),
  agent_name: Joi.string().required(),
  metric: Joi.string().required(),
  status: Joi.string().valid('open', 'resolved').required(),
  manifest_id: nullable(Joi.string().guid()).description(
    'Null for a drift: the change does not coincide with a version',
  ),
  version_label: Joi.string().required(),
  previous_version_label: nullable(Joi.string()),
  candidate_version_labels: listOf(Joi.string())
    .required()
    .description('One of these introduced it with a probability of 90 %'),
  delta: Joi.number().required().description('Negative is worse'),
  relative_delta: nullable(Joi.number()),
  p_value: Joi.number().required(),
  q_value: Joi.number().required(),
  trace_sample_ids: listOf(Joi.string()).required(),
  detected_at: times.required(),
  resolved_at: nullable(times),
  resolution: nullable(Joi.string().valid('recovered', 'reverted', 'manual')),
  resolution_note: nullable(Joi.string()),
}).label('RegressionFinding')

/** @throws ApiError 404 */
export async function readFinding(sql: Queryable, orgId: string, id: string) {
  const finding = await findFinding(sql, orgId, id)
  if (!finding) throw notFound('Finding')
  return finding
}

export function viewFinding(finding: FindingRow) {
  return {
    id: finding.id,
    agent_name: finding.agent_name,
    metric: finding.metric,
    status: finding.resolved_at ? 'resolved' : 'open',
    manifest_id: finding.manifest_id,
    version_label: finding.version_label,
    previous_version_label: finding.previous_version_label,
    candidate_version_labels: finding.candidates,
    delta: finding.delta,
    relative_delta: finding.relative_delta,
    p_value: finding.p_value,
    q_value: finding.q_value,
    trace_sample_ids: finding.trace_sample_ids,
    detected_at: finding.detected_at,
    resolved_at: finding.resolved_at,
    resolution: finding.resolution,
    resolution_note: finding.resolution_note,
  }
}
