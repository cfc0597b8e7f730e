import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import Joi from 'joi'
import { faultOfPath } from '../../jobs/rules/skills/file-path.ts'
import {
  findCollision,
  MAX_FILES_BYTES,
  MEDIA_TYPE,
  MODES,
} from '../../jobs/rules/skills/version-files.ts'
import type { VersionFile } from '../../jobs/rules/skills/version-files.ts'
import { listOf, oneOf, shape, text, uuidReference } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import { validationError } from '../errors.ts'
import type { FieldFault } from '../errors.ts'

/** A file of a skill, with its content. */
export interface SentFile extends VersionFile {
  readonly content: Buffer
}

const path = text(1024)
const content = text(MAX_FILES_BYTES).allow('')

const members = {
  path: path.description('Relative to the folder of the skill, such as scripts/run.sh'),
  file_path: path.description('In place of path'),
  directory: path.allow('').description('Of file_path, unless that begins with it'),
  content: content.description('Text'),
  content_text: content.description('In place of content'),
  content_base64: content.custom(checkBase64).description('Bytes, in place of content'),
  content_type: text(128)
    .pattern(MEDIA_TYPE, 'a media type')
    .description('Default text/plain for UTF-8, else application/octet-stream'),
  mode: oneOf(...MODES).default('0644'),
}
/** Said in each file, or once beside several. */
const skill_version_id = uuidReference().description(
  'Refused with 409 when the newest version has another body than this one',
)

/** A file as clients send it, in the words of the interface or in those of older clients. */
export const sentFileBody = oneOfEach(shape({}, { ...members, skill_version_id }))
export const sentFilesBody = shape(
  { files: listOf(sentFileBody.label('SkillFile')).min(1).max(50) },
  { skill_version_id },
)

/**
 * @param fieldOf the name of the item's field in the request
 * @throws ApiError 422 for a path that no file can have, or that cannot be beside another one of these
 */
export function readSentFiles(
  items: readonly SentItem[],
  fieldOf: (index: number) => string,
): SentFile[] {
  const files = items.map(readFile)
  const faults = files.flatMap(({ path }, i): FieldFault[] => {
    const message = faultOfPath(path)
    return message === undefined
      ? []
      : [{ field: `${fieldOf(i)}.${pathMember(items[i])}`, message }]
  })
  const colliding = findCollision(files.map(({ path }) => path))
  if (colliding >= 0) {
    const field = `${fieldOf(colliding)}.${pathMember(items[colliding])}`
    faults.push({ field, message: 'must not collide with the path of a file before it' })
  }
  if (faults.length > 0) throw validationError(faults)
  return files
}

function oneOfEach<S extends Joi.ObjectSchema>(schema: S) {
  return schema.xor('path', 'file_path').xor('content', 'content_text', 'content_base64')
}

function readFile(item: SentItem): SentFile {
  const content =
    item.content_base64 === undefined
      ? Buffer.from(item.content ?? item.content_text ?? '')
      : Buffer.from(item.content_base64, 'base64')
  return {
    path: item.path ?? joinPath(item.directory ?? '', item.file_path ?? ''),
    content,
    sha256: createHash('sha256').update(content).digest(),
    mode: item.mode,
    size_bytes: content.length,
    content_type: item.content_type ?? typeOf(content),
  }
}

/** Clients send the whole path beside its directory, too. */
function joinPath(directory: string, path: string) {
  const folder = directory.replace(/\/+$/, '')
  return folder === '' || path.startsWith(`${folder}/`) ? path : `${folder}/${path}`
}

function typeOf(content: Buffer) {
  return isUtf8(content) ? 'text/plain' : 'application/octet-stream'
}

function pathMember(item: SentItem | undefined) {
  return item?.path === undefined ? 'file_path' : 'path'
}

function checkBase64(text: string, { message }: Joi.CustomHelpers) {
  const isBase64 = Buffer.from(text, 'base64').toString('base64') === text
  return isBase64 ? text : message({ custom: '{#label} must be padded base64' })
}

type SentItem = Valid<typeof sentFileBody>
