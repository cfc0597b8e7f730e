import Joi from 'joi'
import { shape } from '../../jobs/shape.ts'
import { listFiles } from '../../sql/skills/skill-files.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { attachmentsMembers, versionMembers, viewAttachment, viewVersionOf } from './attachment.ts'
import { findVisibleSkill, skillPath } from './skill.ts'
import { findVisibleVersion, versionReference } from './version.ts'

export const listAttachments = endpoint('GET', '/skills/{skill_name}/attachments', {
  summary: 'List the files of a skill, by path',
  description: 'All of them, at most 200, without their contents.',
  access: 'key',
  params: skillPath,
  query: shape({}, { version: versionReference }),
  answers: {
    200: Joi.object({
      ...attachmentsMembers,
      ...versionMembers,
    }).label('AttachmentList'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const { orgId } = principal
    const skill = await findVisibleSkill(sql, principal, params.skill_name)
    const version = await findVisibleVersion(sql, orgId, skill.id, query.version)
    const files = await listFiles(sql, orgId, [version.id])
    return { attachments: files.map(viewAttachment), ...viewVersionOf(version) }
  },
})
