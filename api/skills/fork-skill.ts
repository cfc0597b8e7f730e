import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findSkill } from '../../sql/skills/skills.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import { copySkill, forkBody, forkPublic } from './fork.ts'
import { nameField } from './members.ts'
import { findServed } from './public-skill.ts'
import { referenceOf, skillPath } from './skill.ts'

const members = {
  new_name: nameField
    .empty(['', null])
    .description('Default its name, or its name with -2, -3 and so on'),
}

export const forkSkill = endpoint('POST', '/skills/{skill_name}/fork', {
  summary: 'Copy a skill of the organization, or install a public one',
  description:
    'A public one is named by its id, its url_slug or `handle/name`. It is installed once: again is 409, with the name of the copy in X-Installed-As. The copy is private; what becomes of it does not touch the original. An own one is only copied.',
  access: 'key',
  params: skillPath,
  query: shape({}, members),
  body: shape({}, members).label('SkillForkRequest').example({ new_name: 'our-order-lookup' }),
  answers: { 201: forkBody, 400: errorBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, params, query, body }) {
    const newName = body.new_name ?? query.new_name
    const fork = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const own = await findSkill(tx, principal.orgId, referenceOf(params.skill_name))
      if (own) return copySkill(tx, context, principal, own, { named: newName })
      const source = await findServed(tx, params.skill_name)
      return forkPublic(tx, context, principal, source, newName)
    })
    return new Answer(201, fork, { Location: `/api/v1/skills/${fork.skill.id}` })
  },
})
