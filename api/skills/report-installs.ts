import Joi from 'joi'
import { INSTALL_STATES, installState } from '../../jobs/rules/skills/install-state.ts'
import { listOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { compareHeld, noteHeld } from '../../sql/skills/client-installs.ts'
import { endpoint } from '../endpoint.ts'
import { hashField } from './members.ts'
import { installLabelField, MAX_ITEMS } from './sync-request.ts'

export const reportInstalls = endpoint('POST', '/skills/installs/report', {
  summary: 'Tell which skills an installation of a client holds, and learn how they stand',
  description:
    'local_ahead: the body was changed there since the newest version; remote_ahead: it is that of an older version; conflict: both changed; local_only: there is no such skill; unknown: no version has the body, and this installation never held one that is stored. A sync with an `install_id` tells the same.',
  access: 'key',
  body: shape(
    {
      install_id: text(),
      skills: listOf(shape({ name: text(), content_hash: hashField }).label('HeldSkill')).max(
        MAX_ITEMS,
      ),
    },
    { install_label: installLabelField },
  )
    .label('InstallReport')
    .example({
      install_id: 'laptop',
      skills: [{ name: 'order-lookup', content_hash: 'ab'.repeat(32) }],
    }),
  answers: {
    200: Joi.object({
      skills: listOf(
        Joi.object({
          name: Joi.string().required(),
          status: Joi.string()
            .valid(...INSTALL_STATES)
            .required(),
          version_number: Joi.number().integer().allow(null).required().description('The newest'),
        }).label('SkillInstallState'),
      ).required(),
    }).label('InstallReportAnswer'),
  },
  async handle({ context, principal: { orgId }, body }) {
    const { install_id } = body
    // Of two of one name the last counts.
    const told = new Map(
      body.skills.map(({ name, content_hash }) => [name, Buffer.from(content_hash, 'hex')]),
    )
    const held = [...told].map(([name, sha256]) => ({ name, sha256 }))
    const states = await context.sql.begin(async (tx: Transaction) => {
      const rows = new Map(
        (await compareHeld(tx, orgId, install_id, held)).map((row) => [row.name, row]),
      )
      const noted = held.map(({ name }) => ({ name, version: rows.get(name)?.held ?? null }))
      await noteHeld(tx, orgId, install_id, noted)
      return rows
    })
    return {
      skills: held.map(({ name }) => {
        const { newest = null, held = null, base = null } = states.get(name) ?? {}
        return { name, status: installState(newest, held, base), version_number: newest }
      }),
    }
  },
})
