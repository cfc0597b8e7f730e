import Joi from 'joi'
import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { unpublishSkill as unpublish } from '../../sql/transactions/unpublish-skill.ts'
import { audit } from '../audit.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { lockVisibleSkill, skillPath } from './skill.ts'

export const unpublishSkill = endpoint('POST', '/skills/{skill_name}/unpublish', {
  summary: 'Take a skill out of the registry',
  description:
    'All its versions are private again. It keeps its public name for when it is published again, and copies that others made stay. 200 for one that is not public, too.',
  access: 'global-admin',
  params: skillPath,
  body: shape({}).label('UnpublishRequest').example({}),
  answers: {
    200: Joi.object({
      status: Joi.string().valid('ok').required(),
      forks_cleared: Joi.number().valid(0).required().description('Copies stay as they are'),
    }).label('UnpublishedSkill'),
    404: errorBody,
  },
  async handle({ context, principal, params }) {
    await context.sql.begin(async (tx: Transaction) => {
      const { id, name } = await lockVisibleSkill(tx, principal, params.skill_name)
      const wasPublic = await unpublish(tx, principal.orgId, id)
      if (wasPublic) await audit(tx, principal, 'skill.unpublished', id, { name })
    })
    return { status: 'ok', forks_cleared: 0 }
  },
})
