import { shape, textReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { conflictBody, errorBody } from '../fields.ts'
import { forkBody, forkPublic } from './fork.ts'
import { nameField } from './members.ts'
import { findServed, publicReference } from './public-skill.ts'
import { versionField } from './version.ts'

export const installPublicSkill = endpoint('POST', '/registry/skills/{skill_id}/fork', {
  summary: 'Install a public skill',
  description:
    'Copies it, with its files, into a private skill of the organization: changes of the copy do not touch the original. It is installed once: again is 409, with the name of the copy in X-Installed-As. An own one is only copied. The path without an id takes `skill_id` in the body.',
  access: 'key',
  aliases: ['/registry/install'],
  params: shape({}, { skill_id: publicReference }),
  body: shape(
    {},
    {
      skill_id: textReference().description('Where the path names none, else the same'),
      version: versionField,
      new_name: nameField.description('Default its name, or its name with -2, -3 and so on'),
    },
  )
    .label('InstallRequest')
    .example({ skill_id: 'acme-order-lookup', version: 2 }),
  answers: { 201: forkBody, 400: errorBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, params, body }) {
    const reference = params.skill_id ?? body.skill_id
    if (reference === undefined) throw badRequest('Name the skill by `skill_id`')
    const fork = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const source = await findServed(tx, reference, body.version)
      const named = body.skill_id === undefined ? source : await findServed(tx, body.skill_id)
      if (named.skill_id !== source.skill_id) {
        throw badRequest('The path and `skill_id` name different skills')
      }
      return forkPublic(tx, context, principal, source, body.new_name)
    })
    return new Answer(201, fork, { Location: `/api/v1/skills/${fork.skill.id}` })
  },
})
