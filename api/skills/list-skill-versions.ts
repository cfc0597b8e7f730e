import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listVersions } from '../../sql/skills/skill-versions.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { decodeNumberCursor, listAnswer } from '../pagination.ts'
import { findVisibleSkill, newestVersion, skillPath } from './skill.ts'
import { versionSummary, viewVersion } from './version.ts'

export const listSkillVersions = endpoint('GET', '/skills/{skill_name}/versions', {
  summary: 'List the versions of a skill without their bodies, newest first',
  access: 'key',
  params: skillPath,
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ versions: listOf(versionSummary).required(), ...listMembers }).label(
      'SkillVersionList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query: { limit, offset, cursor } }) {
    const { orgId } = principal
    const { id } = await findVisibleSkill(sql, principal, params.skill_name)
    const page = { before: decodeNumberCursor(cursor), limit: limit + 1, offset }
    const [rows, newest] = await Promise.all([
      listVersions(sql, orgId, id, page),
      newestVersion(sql, orgId, id),
    ])
    // Numbers have no gaps.
    const total = newest.version_number
    return listAnswer('versions', { limit, offset }, rows, total, viewVersion, (row) => [
      row.version_number,
    ])
  },
})
