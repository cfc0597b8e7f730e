import Joi from 'joi'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import { listUsedSkills, measureSkills } from '../../sql/skills/skill-uses.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, listMembers } from '../fields.ts'
import { decodeTextCursor, encodeCursor } from '../pagination.ts'
import { alsoNamed, analyticsQuery, READ, useFields, useFilter, viewUse } from './analytics.ts'

export const showMetrics = endpoint('GET', '/skills/analytics/metrics', {
  summary: 'Tell how the skills do that traces used, by name',
  description: READ,
  access: 'key',
  aggregates: true,
  query: alsoNamed(
    shape(
      {},
      {
        skill: text().description('This one alone; also as `skill_name`'),
        ...analyticsQuery,
        limit: int(1, 100).default(50),
        cursor: cursorQuery.cursor,
      },
    ),
    { skill_name: 'skill', window_days: 'days' },
  ),
  answers: {
    200: Joi.object({
      skills: listOf(
        Joi.object({ name: Joi.string().required(), ...useFields }).label('SkillMetrics'),
      ).required(),
      next_cursor: listMembers.next_cursor,
    }).label('SkillMetricsList'),
    404: errorBody,
  },
  async handle({ context, principal, query }) {
    const { limit, skill } = query
    const filter = await useFilter(context, principal, query)
    const after = decodeTextCursor(query.cursor)
    const names = skill
      ? [skill]
      : await listUsedSkills(context.sql, filter, { after, limit: limit + 1 })
    const uses = await measureSkills(context.sql, filter, names.slice(0, limit))
    const last = names.length > limit ? names[limit - 1] : undefined
    return {
      // An agent may have used none of those that others did.
      skills: uses
        .filter(({ traces }) => traces > 0)
        .map((use) => ({ name: use.name, ...viewUse(use) })),
      next_cursor: last === undefined ? null : encodeCursor([last]),
    }
  },
})
