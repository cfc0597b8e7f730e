import type { Transaction } from '../../sql/core/db.ts'
import { removeSkill } from '../../sql/transactions/remove-skill.ts'
import { audit } from '../audit.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { forbidden } from '../errors.ts'
import { errorBody, noBody } from '../fields.ts'
import { lockVisibleSkill, skillPath } from './skill.ts'

export const deleteSkill = endpoint('DELETE', '/skills/{skill_name}', {
  summary: 'Delete a skill',
  description:
    'It is public no more, and no agent uses it any more. Copies that others made stay. Its name is free again. A public one takes a global-scoped key, as unpublishing does.',
  access: 'key',
  params: skillPath,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal, params }) {
    await context.sql.begin(async (tx: Transaction) => {
      const { id, name, visibility } = await lockVisibleSkill(tx, principal, params.skill_name)
      if (visibility === 'public' && principal.scope !== 'global') throw forbidden(PUBLIC)
      const wasPublic = await removeSkill(tx, principal.orgId, id)
      if (wasPublic) await audit(tx, principal, 'skill.unpublished', id, { name })
    })
    return new Answer(204, null)
  },
})

const PUBLIC = 'The skill is public: deleting it needs a global-scoped API key'
