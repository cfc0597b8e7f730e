import Joi from 'joi'
import { round4 } from '../../jobs/rules/core/round.ts'
import { rankUses } from '../../jobs/rules/skills/skill-use.ts'
import { int, listOf, shape } from '../../jobs/shape.ts'
import { listLatestUsed, measureSkills } from '../../sql/skills/skill-uses.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { alsoNamed, analyticsQuery, READ, useFields, useFilter, viewUse } from './analytics.ts'

/** Skills that are compared with each other. */
const MAX_RANKED = 200

export const showLeaderboard = endpoint('GET', '/skills/analytics/leaderboard', {
  summary: 'Rank the skills that traces used, the best first',
  description: `Of the ${MAX_RANKED} skills that were used last. By the lower bound of the pass rate, so that one good trace does not come before many. ${READ}`,
  access: 'key',
  aggregates: true,
  query: alsoNamed(shape({}, { ...analyticsQuery, limit: int(1, 100).default(20) }), {
    window_days: 'days',
  }),
  answers: {
    200: Joi.object({
      leaderboard: listOf(
        Joi.object({
          rank: Joi.number().integer().required(),
          name: Joi.string().required(),
          score: nullable(Joi.number()).description(
            'Lower bound of the pass rate, 0 to 1; null where no trace was judged',
          ),
          ...useFields,
        }).label('RankedSkill'),
      ).required(),
    }).label('SkillLeaderboard'),
    404: errorBody,
  },
  async handle({ context: { sql }, context, principal, query }) {
    const filter = await useFilter(context, principal, query)
    const names = await listLatestUsed(sql, filter, MAX_RANKED)
    const uses = await measureSkills(sql, filter, names)
    const ranked = rankUses(uses.filter(({ traces }) => traces > 0))
    return {
      leaderboard: ranked.slice(0, query.limit).map(({ use, score }, index) => ({
        rank: index + 1,
        name: use.name,
        score: round4(score),
        ...viewUse(use),
      })),
    }
  },
})
