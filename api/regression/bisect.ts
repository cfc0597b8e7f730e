import Joi from 'joi'
import { int, listOf, text, time } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { QUALITY_METRIC } from '../../sql/regression/activations.ts'
import { listFindings } from '../../sql/regression/findings.ts'
import { findSeries } from '../../sql/regression/series.ts'
import type { SeriesVersion } from '../../sql/regression/series.ts'
import { nullable, times } from '../fields.ts'
import { findingBody, viewFinding } from './finding.ts'

export const metricField = text()
  .default(QUALITY_METRIC)
  .description(`\`${QUALITY_METRIC}\`, or the name of a score`)

/** Parameters of the display. They do not affect the tests. */
export const viewFields = {
  since: time().description('Leaves out versions activated before'),
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
      mean: nullable(Joi.number()),
      ci95_low: nullable(Joi.number()),
      ci95_high: nullable(Joi.number()),
      pass_rate: nullable(Joi.number()),
      mde: nullable(Joi.number()).description(
        'The smallest drop against the version before that its traffic could have shown with a power of .8',
      ),
      is_below_threshold: Joi.boolean()
        .required()
        .description('For display only: chance is not accounted for'),
    }).label('SeriesVersion'),
  ).required(),
  findings: listOf(findingBody).required(),
  computed_at: nullable(times),
  job_id: Joi.string().guid(),
}).label('BisectView')

/** The view as it was last computed. */
export async function viewBisect(
  sql: Queryable,
  agent: AgentKey,
  metric: string,
  view: {
    since?: Date | undefined
    min_samples: number
    threshold: number
  },
) {
  const [series, findings] = await Promise.all([
    findSeries(sql, agent, metric),
    listFindings(sql, agent, metric),
  ])
  const { since, min_samples, threshold } = view
  const versions = (series?.versions ?? []).map((version, i, all) => ({
    ...version,
    mde: version.mde ?? null,
    is_below_threshold: isBelow(all[i - 1], version, { min_samples, threshold }),
  }))
  return {
    agent_name: agent.agentName,
    metric,
    method: METHOD,
    versions: versions.filter(({ activated_at }) => !since || new Date(activated_at) >= since),
    findings: findings.map(viewFinding),
    computed_at: series?.computed_at ?? null,
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
