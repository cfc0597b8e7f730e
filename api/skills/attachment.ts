import { isUtf8 } from 'node:buffer'
import Joi from 'joi'
import { MODES } from '../../jobs/rules/skills/version-files.ts'
import type { VersionFile } from '../../jobs/rules/skills/version-files.ts'
import { listOf, shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findFile } from '../../sql/skills/skill-files.ts'
import type { SkillFileRow } from '../../sql/skills/skill-files.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'

/** Of a public skill, too. */
export const publicAttachmentFields = {
  id: Joi.string().guid().required().description('The same in the versions that follow'),
  path: Joi.string().required().description('Relative to the folder of the skill'),
  file_path: Joi.string().required().description('As path'),
  mode: Joi.string()
    .valid(...MODES)
    .required(),
  size_bytes: Joi.number().integer().required(),
  sha256: Joi.string().required().description('Of the content, in hex'),
  content_type: Joi.string().required(),
}

export const attachmentFields = {
  ...publicAttachmentFields,
  created_at: times.required().description('When the path was first attached'),
}

/** The files of a version. */
export const attachmentsMembers = {
  attachments: listOf(Joi.object(attachmentFields).label('Attachment')).required(),
}

export const contentFields = {
  content_text: nullable(Joi.string().allow('')).description('Null for other than UTF-8'),
  content_base64: nullable(Joi.string()).description('Null for UTF-8'),
}

export const versionMembers = {
  version_id: Joi.string().guid().required().description('The version that has it'),
  version_number: Joi.number().integer().required(),
}

/** Exactly one of `attachment_id` and `path`, which takes the rest of a URL. */
export const attachmentPath = shape(
  { skill_name: textReference() },
  { attachment_id: uuidReference(), path: text(1024) },
)

export function viewAttachment(file: SkillFileRow) {
  return { ...viewPublicAttachment(file), created_at: file.created_at }
}

/** Its content is apart. */
export function viewPublicAttachment({
  id,
  path,
  mode,
  size_bytes,
  sha256,
  content_type,
}: VersionFile & { readonly id: string }) {
  const hash = sha256.toString('hex')
  return { id, path, file_path: path, mode, size_bytes, sha256: hash, content_type }
}

export function viewContent(content: Buffer) {
  return isUtf8(content)
    ? { content_text: content.toString(), content_base64: null }
    : { content_text: null, content_base64: content.toString('base64') }
}

export function viewVersionOf({
  id,
  version_number,
}: Pick<SkillVersionRow, 'id' | 'version_number'>) {
  return { version_id: id, version_number }
}

/** @throws ApiError 404 */
export async function findAttachment(
  sql: Queryable,
  orgId: string,
  versionId: string,
  {
    attachment_id: id,
    path = '',
  }: { attachment_id?: string | undefined; path?: string | undefined },
): Promise<SkillFileRow> {
  const file = await findFile(sql, orgId, versionId, id === undefined ? { path } : { id })
  if (!file) throw notFound('Attachment')
  return file
}
