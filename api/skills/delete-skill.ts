import type { Transaction } from '../../sql/core/db.ts'
import { removeSkill } from '../../sql/transactions/remove-skill.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody, noBody } from '../fields.ts'
import { lockVisibleSkill, skillPath } from './skill.ts'

export const deleteSkill = endpoint('DELETE', '/skills/{skill_name}', {
  summary: 'Delete a skill',
  description:
    'It is public no more, and no agent uses it any more. Copies that others made stay. Its name is free again.',
  access: 'key',
  params: skillPath,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal, params }) {
    await context.sql.begin(async (tx: Transaction) => {
      const { id } = await lockVisibleSkill(tx, principal, params.skill_name)
      await removeSkill(tx, principal.orgId, id)
    })
    return new Answer(204, null)
  },
})
