import Joi from 'joi'
import { shape } from '../../jobs/shape.ts'
import { readBlob } from '../../sql/skills/skill-blobs.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import {
  attachmentFields,
  attachmentPath,
  contentFields,
  findAttachment,
  versionMembers,
  viewAttachment,
  viewContent,
  viewVersionOf,
} from './attachment.ts'
import { findVisibleSkill } from './skill.ts'
import { findVisibleVersion, versionReference } from './version.ts'

export const showAttachment = endpoint('GET', '/skills/{skill_name}/attachments/{attachment_id}', {
  summary: 'Read a file of a skill',
  access: 'key',
  aliases: ['/skills/{skill_name}/attachments/by-path/{path*}'],
  params: attachmentPath,
  query: shape({}, { version: versionReference }),
  answers: {
    200: Joi.object({ ...attachmentFields, ...versionMembers, ...contentFields }).label(
      'AttachmentContent',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const { orgId } = principal
    const skill = await findVisibleSkill(sql, principal, params.skill_name)
    const version = await findVisibleVersion(sql, orgId, skill.id, query.version)
    const file = await findAttachment(sql, orgId, version.id, params)
    const content = await readBlob(sql, orgId, file.sha256)
    if (!content) throw notFound('Attachment')
    return {
      ...viewAttachment(file),
      ...viewVersionOf(version),
      ...viewContent(content),
    }
  },
})
