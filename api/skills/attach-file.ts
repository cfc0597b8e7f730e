import Joi from 'joi'
import { onlyRow } from '../../sql/core/db.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody, unprocessableBody } from '../fields.ts'
import { attachmentFields, versionMembers, viewAttachment, viewVersionOf } from './attachment.ts'
import { putFiles } from './put-files.ts'
import { readSentFiles, sentFileBody } from './sent-file.ts'
import { skillPath } from './skill.ts'

const answer = Joi.object({ ...attachmentFields, ...versionMembers }).label('AttachedFile')

export const attachFile = endpoint('POST', '/skills/{skill_name}/attachments', {
  summary: 'Attach a file to a skill, or replace the one of its path',
  description:
    'It joins the newest version; where that is frozen, a version of origin files follows it with the same body. A file has at most 1 MiB; a skill has at most 200 of them, 5 MiB together. The path must stay alone where case is ignored (409 otherwise). The answer is 201, or 200 where a file was replaced or the same one is there.',
  access: 'key',
  params: skillPath,
  body: sentFileBody
    .label('AttachmentRequest')
    .example({ path: 'scripts/run.sh', content: 'echo done\n', mode: '0755' }),
  answers: {
    200: answer,
    201: answer,
    404: errorBody,
    409: conflictBody,
    422: unprocessableBody,
  },
  async handle({ context, principal, params, body }) {
    const target = { skillName: params.skill_name, versionIds: [body.skill_version_id] }
    const sent = readSentFiles([body], () => 'body')
    const { version, files, isAnyNew } = await putFiles(context, principal, target, sent)
    const attached = { ...viewAttachment(onlyRow(files)), ...viewVersionOf(version) }
    return new Answer(isAnyNew ? 201 : 200, attached)
  },
})
