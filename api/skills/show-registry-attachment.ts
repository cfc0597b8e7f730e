import Joi from 'joi'
import { shape, uuidReference } from '../../jobs/shape.ts'
import { findRegistryFile } from '../../sql/skills/registry-files.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import {
  contentFields,
  publicAttachmentFields,
  versionMembers,
  viewContent,
  viewPublicAttachment,
} from './attachment.ts'
import { findServed, publicReference } from './public-skill.ts'
import { versionField } from './version.ts'

export const showRegistryAttachment = endpoint(
  'GET',
  '/registry/skills/{skill_id}/attachments/{attachment_id}',
  {
    summary: 'Read a file of a public skill',
    access: 'public',
    params: shape({ skill_id: publicReference, attachment_id: uuidReference() }),
    query: shape({}, { version: versionField }),
    answers: {
      200: Joi.object({ ...publicAttachmentFields, ...contentFields, ...versionMembers }).label(
        'PublicAttachment',
      ),
      404: errorBody,
    },
    async handle({ context: { sql }, params, query }) {
      const skill = await findServed(sql, params.skill_id, query.version)
      const file = await findRegistryFile(sql, skill, params.attachment_id)
      if (!file) throw notFound('Attachment')
      return {
        ...viewPublicAttachment(file),
        ...viewContent(file.content),
        version_id: skill.version_id,
        version_number: skill.version_number,
      }
    },
  },
)
