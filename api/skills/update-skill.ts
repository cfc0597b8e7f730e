import { hashBody } from '../../jobs/rules/skills/skill.ts'
import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findVersion, nextVersion } from '../../sql/skills/skill-versions.ts'
import { addSkillVersions } from '../../sql/transactions/add-skill-versions.ts'
import { changeSkills } from '../../sql/transactions/change-skills.ts'
import { endpoint } from '../endpoint.ts'
import { validationError } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { bodyField, changeOfDetails, detailFields, nameField, versionFields } from './members.ts'
import {
  findVisibleSkill,
  lockVisibleSkill,
  newestVersion,
  requireNext,
  skillBody,
  skillPath,
  viewSkill,
} from './skill.ts'

export const updateSkill = endpoint('PUT', '/skills/{skill_name}', {
  summary: 'Change what is said of a skill, or its body',
  description:
    'Members that are left out stay as they are. A body that differs from the newest one makes a version; what else is said makes none. The name stays: give the skill another one by a fork.',
  access: 'key',
  params: skillPath,
  body: shape({}, { name: nameField, body_markdown: bodyField, ...detailFields, ...versionFields })
    .label('SkillChange')
    .example({ description: 'Finds an order by its number or by its customer' }),
  answers: { 200: skillBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, body }) {
    const { orgId, keyLabel } = principal
    const { body_markdown, author = keyLabel, change_summary = null } = body
    const id = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const skill = await lockVisibleSkill(tx, principal, params.skill_name)
      if (body.name !== undefined && body.name !== skill.name) throw validationError([RENAMED])
      const change = changeOfDetails(body, skill)
      if (change) await changeSkills(tx, context.queue, orgId, [change])
      const newest = await newestVersion(tx, orgId, skill.id)
      const bodySha256 = body_markdown === undefined ? newest.body_sha256 : hashBody(body_markdown)
      if (body_markdown === undefined || bodySha256.equals(newest.body_sha256)) return skill.id
      requireNext(newest)
      const same = await findVersion(tx, orgId, skill.id, { bodySha256 })
      const version = nextVersion(skill.id, newest, {
        body: body_markdown,
        ...(same ? { origin: 'restore', restored_from_version_id: same.id } : { origin: 'create' }),
        author,
        change_summary,
      })
      await addSkillVersions(tx, context.queue, orgId, [version])
      return skill.id
    })
    const changed = await findVisibleSkill(context.sql, principal, id)
    return viewSkill(context.sql, orgId, changed)
  },
})

const RENAMED = { field: 'body.name', message: 'must be the name that the skill has' }
