import Joi from 'joi'
import { METRICS, PLANS } from '../../jobs/rules/org/plan.ts'
import { listOf } from '../../jobs/shape.ts'
import { readUsage } from '../../sql/org/usage.ts'
import { endpoint } from '../endpoint.ts'
import { nullable, times } from '../fields.ts'

export const showUsage = endpoint('GET', '/usage', {
  summary:
    "Read what the organization used of this month's quotas, and how long its traces are kept",
  access: 'key',
  answers: {
    200: Joi.object({
      period_start: times.required(),
      period_end: times.required().description('Start of the next month, UTC'),
      plan: Joi.string()
        .valid(...PLANS)
        .required(),
      trace_retention_days: nullable(Joi.number().integer()).description(
        'Traces are deleted so many days after they came; null keeps them',
      ),
      metrics: listOf(
        Joi.object({
          metric: Joi.string()
            .valid(...METRICS)
            .required(),
          current: Joi.number().integer().required(),
          limit: Joi.number().integer().required(),
          percent: Joi.number().required(),
        }).label('MetricUsage'),
      ).required(),
    }).label('Usage'),
  },
  async handle({ context, principal }) {
    const { metrics, ...usage } = await readUsage(
      context.sql,
      principal.orgId,
      context.quotas,
      context.now(),
    )
    return {
      ...usage,
      metrics: metrics.map((metric) => ({ ...metric, percent: percentOf(metric) })),
    }
  },
})

/** Rounds to a tenth. A limit of 0 is always used up. */
function percentOf({ current, limit }: { current: number; limit: number }) {
  return limit === 0 ? 100 : Math.round((1000 * current) / limit) / 10
}
