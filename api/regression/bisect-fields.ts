import Joi from 'joi'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/db.ts'
import type { AgentKey } from '../../sql/manifests.ts'
import { QUALITY_METRIC } from '../../sql/regression-episodes.ts'
import { listFindings } from '../../sql/regression-findings.ts'
import type { FindingRow } from '../../sql/regression-findings.ts'
import { findSeries } from '../../sql/regression-series.ts'
import type { SeriesVersion } from '../../sql/regression-series.ts'
import { nullable, times } from '../fields.ts'

const number = Joi.number().required()

export const agentPath = shape({ agent_name: text() })

export const metricField = text()
  .default(QUALITY_METRIC)
  .description(`\`${QUALITY_METRIC}\`, or the name of a score`)

/** How the versions are shown. What is tested does not depend on who asks when. */
export const viewFields = {
  since: Joi.date().iso().description('Leaves out versions activated before'),
  min_samples: int(1, 1_000_000)
    .default(30)
    .description('Traces below which a version is not marked'),
  threshold: Joi.number()
    .min(0)
    .max(1)
    .default(0.1)
    .description(
      'Share by which a mean has to be below the one before for its version to be marked',
    ),
}

export const findingBody = Joi.object({
  id: Joi.string().guid().required(),
  agent_name: Joi.string().required(),
  metric: Joi.string().required(),
  status: Joi.string().valid('open', 'resolved').required(),
  manifest_id: nullable(Joi.string().guid())
    .required()
    .description('Null for a drift: the change does not coincide with a version'),
  version_label: Joi.string().required(),
  previous_version_label: nullable(Joi.string()).required(),
  candidate_version_labels: listOf(Joi.string())
    .required()
    .description('One of these introduced it with a probability of 90 %'),
  delta: number.description('Negative is worse'),
  relative_delta: nullable(Joi.number()).required(),
  p_value: number,
  q_value: number,
  trace_sample_ids: listOf(Joi.string()).required(),
  detected_at: times.required(),
  resolved_at: nullable(times).required(),
  resolution: nullable(Joi.string().valid('recovered', 'reverted', 'manual')).required(),
  resolution_note: nullable(Joi.string()).required(),
}).label('RegressionFinding')

export const bisectBody = Joi.object({
  agent_name: Joi.string().required(),
  metric: Joi.string().required(),
  method: Joi.string().required(),
  versions: listOf(
    Joi.object({
      manifest_id: Joi.string().guid().required(),
      version_label: Joi.string().required(),
      activated_at: times.required(),
      n: Joi.number().integer().required(),
      mean: nullable(Joi.number()).required(),
      ci95_low: nullable(Joi.number()).required(),
      ci95_high: nullable(Joi.number()).required(),
      pass_rate: nullable(Joi.number()).required(),
      is_below_threshold: Joi.boolean()
        .required()
        .description('For display only: chance is not accounted for'),
    }).label('SeriesVersion'),
  ).required(),
  findings: listOf(findingBody).required(),
  computed_at: nullable(times).required(),
  job_id: Joi.string().guid(),
}).label('BisectView')

/** The view as it was last computed. */
export async function showBisect(
  sql: Queryable,
  agent: AgentKey,
  metric: string,
  view: {
    since?: Date | undefined
    min_samples?: number | undefined
    threshold?: number | undefined
  },
) {
  const [series, findings] = await Promise.all([
    findSeries(sql, agent, metric),
    listFindings(sql, agent, metric),
  ])
  const { since, min_samples = 30, threshold = 0.1 } = view
  const versions = (series?.versions ?? []).map((version, i, all) => ({
    ...version,
    is_below_threshold: isBelow(all[i - 1], version, { min_samples, threshold }),
  }))
  return {
    agent_name: agent.agentName,
    metric,
    method: METHOD,
    versions: versions.filter(({ activated_at }) => !since || new Date(activated_at) >= since),
    findings: findings.map(showFinding),
    computed_at: series?.computed_at ?? null,
  }
}

export function showFinding(finding: FindingRow) {
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

function isBelow(
  before: SeriesVersion | undefined,
  { mean, n }: SeriesVersion,
  { min_samples, threshold }: { min_samples: number; threshold: number },
) {
  if (!before || before.mean === null || mean === null) return false
  if (n < min_samples || before.n < min_samples) return false
  return mean < before.mean && mean <= before.mean * (1 - threshold)
}

const METHOD = 'cluster-robust Welch test at fixed looks, and interval scan with max-T permutations'
