import Joi from 'joi'
import { listOf, shape, text } from '../../jobs/shape.ts'
import * as skills from '../../sql/skills/skills.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { skillBody, viewSkills } from './skill.ts'

export const listSkills = endpoint('GET', '/skills', {
  summary: 'List the skills of the organization, newest first',
  access: 'key',
  query: shape({}, { category: text(64), ...pageQuery }),
  answers: {
    200: Joi.object({ skills: listOf(skillBody).required(), ...listMembers }).label('SkillList'),
  },
  async handle({ context: { sql }, principal: { orgId }, query }) {
    const { limit, offset, category } = query
    const page = { before: decodeCursor(query.cursor), category, limit: limit + 1, offset }
    const [rows, counted] = await Promise.all([
      skills.listSkills(sql, orgId, page),
      skills.countSkills(sql, orgId, category, COUNT_LIMIT + 1),
    ])
    const views = await viewSkills(sql, orgId, rows)
    return listAnswer('skills', { limit, offset }, views, counted, (view) => view, ageKey)
  },
})
