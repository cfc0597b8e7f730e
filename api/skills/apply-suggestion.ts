import Joi from 'joi'
import { hashBody } from '../../jobs/rules/skills/skill.ts'
import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findVersion, nextVersion } from '../../sql/skills/skill-versions.ts'
import { addSkillVersions } from '../../sql/transactions/add-skill-versions.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import { bodyField, versionFields } from './members.ts'
import { lockVisibleSkill, newestVersion, requireNext, skillConflict, skillPath } from './skill.ts'

export const applySuggestion = endpoint('POST', '/skills/{skill_name}/apply-suggestion', {
  summary: 'Make a suggested body the newest version of a skill',
  description:
    'A suggestion is often written by a model: the version counts as unreviewed until it was looked through. A body that some version of the skill has already is refused with that version.',
  access: 'key',
  params: skillPath,
  body: shape({ suggested_body: bodyField }, versionFields)
    .label('SkillSuggestion')
    .example({ suggested_body: 'Ask for the number or the e-mail address first.' }),
  answers: {
    201: Joi.object({
      status: Joi.string().valid('ok').required(),
      skill_name: Joi.string().required(),
      version_id: Joi.string().guid().required(),
      version_number: Joi.number().integer().required(),
      content_hash: Joi.string().required().description('SHA-256 of the body, in hex'),
      previous_version_id: Joi.string().guid().required(),
      safety: Joi.object({ band: Joi.string().valid('unreviewed').required() })
        .required()
        .label('SuggestionSafety'),
    }).label('AppliedSuggestion'),
    404: errorBody,
    409: conflictBody,
  },
  async handle({ context, principal, params, body }) {
    const { suggested_body, author = principal.keyLabel, change_summary = null } = body
    const { orgId } = principal
    const bodySha256 = hashBody(suggested_body)
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const skill = await lockVisibleSkill(tx, principal, params.skill_name)
      const same = await findVersion(tx, orgId, skill.id, { bodySha256 })
      if (same) {
        throw skillConflict(`Version ${same.version_number} has this body already`, skill, same)
      }
      const newest = await newestVersion(tx, orgId, skill.id)
      requireNext(newest)
      const made = { body: suggested_body, origin: 'suggestion', author, change_summary } as const
      const version = nextVersion(skill.id, newest, made)
      await addSkillVersions(tx, context.queue, orgId, [version])
      return new Answer(201, {
        status: 'ok',
        skill_name: skill.name,
        version_id: version.id,
        version_number: version.version_number,
        content_hash: bodySha256.toString('hex'),
        previous_version_id: newest.id,
        safety: { band: 'unreviewed' },
      })
    })
  },
})
