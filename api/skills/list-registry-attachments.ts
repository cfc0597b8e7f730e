import { isUtf8 } from 'node:buffer'
import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listRegistryFiles } from '../../sql/skills/registry-files.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { publicAttachmentFields, versionMembers, viewPublicAttachment } from './attachment.ts'
import { findServed, publicPath } from './public-skill.ts'
import { versionField } from './version.ts'

export const listRegistryAttachments = endpoint('GET', '/registry/skills/{skill_id}/attachments', {
  summary: 'List the files of a public skill, by path',
  access: 'public',
  params: publicPath,
  query: shape({}, { version: versionField }),
  answers: {
    200: Joi.object({
      attachments: listOf(
        Joi.object({
          ...publicAttachmentFields,
          content_text: nullable(Joi.string().allow('')).description(
            'Null for other than UTF-8, and after 1 MiB of files: read those alone',
          ),
        }).label('ListedPublicAttachment'),
      )
        .required()
        .description('At most 200'),
      ...versionMembers,
    }).label('PublicAttachmentList'),
    404: errorBody,
  },
  async handle({ context: { sql }, params, query }) {
    const skill = await findServed(sql, params.skill_id, query.version)
    const files = await listRegistryFiles(sql, skill, MAX_CONTENT_BYTES)
    return {
      attachments: files.map((file) => ({
        ...viewPublicAttachment(file),
        content_text: file.content && isUtf8(file.content) ? file.content.toString() : null,
      })),
      version_id: skill.version_id,
      version_number: skill.version_number,
    }
  },
})

const MAX_CONTENT_BYTES = 1024 * 1024
