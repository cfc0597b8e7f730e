import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { nextVersion } from '../../sql/skills/skill-versions.ts'
import { findSkill, lockSkills } from '../../sql/skills/skills.ts'
import { addSkills, newSkill } from '../../sql/transactions/add-skills.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import {
  bodyField,
  defaultDetails,
  detailFields,
  detailsOf,
  nameField,
  versionFields,
} from './members.ts'
import { findVisibleSkill, nameTaken, skillBody, viewSkill, withinRoom } from './skill.ts'

export const createSkill = endpoint('POST', '/skills', {
  summary: 'Create a skill with its first version',
  description:
    'A skill belongs to the organization. Its body is kept without outer white space; its content_hash is the SHA-256 of that. What it does is looked through for what would harm who installs it, which takes some seconds.',
  access: 'key',
  body: shape({ name: nameField, body_markdown: bodyField }, { ...detailFields, ...versionFields })
    .label('SkillRequest')
    .example({
      name: 'order-lookup',
      description: 'Finds an order by its number',
      body_markdown: '# Order lookup\n\nAsk for the number first.',
    }),
  answers: { 201: skillBody, 400: errorBody, 409: conflictBody },
  async handle({ context, principal, body }) {
    const { orgId, keyId, keyLabel } = principal
    const { name, body_markdown, author = keyLabel, change_summary = null } = body
    const skill = newSkill({
      name,
      ...detailsOf(body, defaultDetails(name, body_markdown)),
      eval_yaml: body.eval_yaml_text ?? null,
      created_by: keyId,
    })
    const made = { body: body_markdown, origin: 'create', author, change_summary } as const
    const version = nextVersion(skill.id, undefined, made)
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await lockSkills(tx, orgId, [name])
      const other = await findSkill(tx, orgId, { name })
      if (other) throw await nameTaken(tx, orgId, other)
      await withinRoom(addSkills(tx, context.queue, orgId, [{ skill, version }]))
    })
    const created = await findVisibleSkill(context.sql, principal, skill.id)
    const view = await viewSkill(context.sql, orgId, created)
    return new Answer(201, view, { Location: `/api/v1/skills/${skill.id}` })
  },
})
