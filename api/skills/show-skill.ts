import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleSkill, skillBody, skillPath, viewSkill } from './skill.ts'

export const showSkill = endpoint('GET', '/skills/{skill_name}', {
  summary: 'Read a skill',
  access: 'key',
  params: skillPath,
  answers: { 200: skillBody, 404: errorBody },
  async handle({ context: { sql }, principal, params }) {
    const skill = await findVisibleSkill(sql, principal, params.skill_name)
    return viewSkill(sql, principal.orgId, skill)
  },
})
