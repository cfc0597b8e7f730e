import Joi from 'joi'
import type { Transaction } from '../../sql/core/db.ts'
import { listFiles } from '../../sql/skills/skill-files.ts'
import { changeSkillFiles } from '../../sql/transactions/change-skill-files.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { attachmentPath, findAttachment, viewVersionOf } from './attachment.ts'
import { lockVisibleSkill, newestVersion, requireNext } from './skill.ts'

export const deleteAttachment = endpoint(
  'DELETE',
  '/skills/{skill_name}/attachments/{attachment_id}',
  {
    summary: 'Remove a file from a skill',
    description:
      'From its newest version; where that is frozen, a version of origin files follows it without the file. Older versions keep it.',
    access: 'key',
    aliases: ['/skills/{skill_name}/attachments/by-path/{path*}'],
    params: attachmentPath,
    answers: {
      200: Joi.object({
        status: Joi.string().valid('ok').required(),
        version_id: Joi.string().guid().required().description('The newest version'),
        version_number: Joi.number().integer().required(),
      }).label('RemovedAttachment'),
      404: errorBody,
      409: errorBody,
    },
    async handle({ context: { sql, queue }, principal, params }) {
      const { orgId, keyLabel: author } = principal
      return queue.transaction(sql, async (tx: Transaction) => {
        const skill = await lockVisibleSkill(tx, principal, params.skill_name)
        const newest = await newestVersion(tx, orgId, skill.id)
        const { path } = await findAttachment(tx, orgId, newest.id, params)
        const present = await listFiles(tx, orgId, [newest.id])
        if (newest.frozen) requireNext(newest)
        const change = { present, put: [], removed: [path], author }
        const version = await changeSkillFiles(tx, queue, orgId, newest, change)
        return { status: 'ok', ...viewVersionOf(version) }
      })
    },
  },
)
