import Joi from 'joi'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody, unprocessableBody } from '../fields.ts'
import { attachmentsMembers, versionMembers, viewAttachment, viewVersionOf } from './attachment.ts'
import { putFiles } from './put-files.ts'
import { readSentFiles, sentFilesBody } from './sent-file.ts'
import { skillPath } from './skill.ts'

const answer = Joi.object({
  ...attachmentsMembers,
  ...versionMembers,
}).label('AttachedFiles')

export const attachFiles = endpoint('POST', '/skills/{skill_name}/attachments/bulk', {
  summary: 'Attach several files to a skill at once, all or none',
  description: 'As attaching each; at most one version follows. 201 when any of them is new.',
  access: 'key',
  params: skillPath,
  body: sentFilesBody
    .label('AttachmentsRequest')
    .example({ files: [{ path: 'references/terms.md', content: '# Terms\n' }] }),
  answers: {
    200: answer,
    201: answer,
    404: errorBody,
    409: conflictBody,
    422: unprocessableBody,
  },
  async handle({ context, principal, params, body }) {
    const versionIds = [body, ...body.files].map(({ skill_version_id: id }) => id)
    const target = { skillName: params.skill_name, versionIds }
    const sent = readSentFiles(body.files, (i) => `body.files.${i}`)
    const { version, files, isAnyNew } = await putFiles(context, principal, target, sent)
    const attached = { attachments: files.map(viewAttachment), ...viewVersionOf(version) }
    return new Answer(isAnyNew ? 201 : 200, attached)
  },
})
