import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleSkill } from './skill.ts'
import { findVisibleVersion, versionBody, versionPath, viewWholeVersion } from './version.ts'

export const showSkillVersion = endpoint('GET', '/skills/{skill_name}/versions/{version_number}', {
  summary: 'Read a version of a skill with its body',
  access: 'key',
  params: versionPath,
  answers: { 200: versionBody, 404: errorBody },
  async handle({ context: { sql }, principal, params }) {
    const { orgId } = principal
    const { id } = await findVisibleSkill(sql, principal, params.skill_name)
    const version = await findVisibleVersion(sql, orgId, id, params.version_number)
    return viewWholeVersion(sql, orgId, version)
  },
})
