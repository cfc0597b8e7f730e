import Joi from 'joi'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { REGISTRY_SORTS } from '../../jobs/rules/skills/registry-order.ts'
import { int, listOf, oneOf, shape } from '../../jobs/shape.ts'
import { listRegistry } from '../../sql/skills/registry.ts'
import { endpoint } from '../endpoint.ts'
import { rankedSkillBody, viewListed } from './registry-skill.ts'

export const showRegistryLeaderboard = endpoint('GET', '/registry/leaderboard', {
  summary: 'Show the public skills with the best evidence',
  description:
    'Only skills that have what `sort` compares. `window_days` leaves out skills without any evidence of so many days; the values are always of the evidence of 90 days.',
  access: 'public',
  query: shape(
    {},
    {
      sort: oneOf('skill_score', 'biggest_improvement', 'efficiency', 'top_rated').default(
        'skill_score',
      ),
      window_days: Joi.number<7 | 30 | 90>().valid(7, 30, 90).default(90),
      limit: int(1, 100).default(20),
    },
  ),
  answers: {
    200: Joi.object({ items: listOf(rankedSkillBody).required() }).label('RegistryLeaderboard'),
  },
  async handle({ context: { sql, now }, principal, query }) {
    const order = REGISTRY_SORTS[query.sort]
    const evidenceSince = new Date(now().getTime() - query.window_days * DAY_MS)
    const { limit } = query
    const rows = await listRegistry(sql, { ranked: true, evidenceSince }, { order, limit })
    return { items: await viewListed(sql, principal, rows, { order, firstRank: 1 }) }
  },
})
