import Joi from 'joi'
import { MAX_SKILLS } from '../../jobs/rules/skills/skill.ts'
import { recordOf } from '../../jobs/shape.ts'
import * as skills from '../../sql/skills/skills.ts'
import { endpoint } from '../endpoint.ts'

export const listHashes = endpoint('GET', '/skills/hashes', {
  summary: 'List the hashes of the newest bodies of all skills, by name',
  description: 'Of the 10,000 skills that an organization has at most.',
  access: 'key',
  answers: {
    200: recordOf(
      Joi.object({ hash: Joi.string().required().description('SHA-256, in hex') }).label(
        'SkillHash',
      ),
    ).label('SkillHashes'),
  },
  async handle({ context: { sql }, principal: { orgId } }) {
    const rows = await skills.listHashes(sql, orgId, MAX_SKILLS)
    return Object.fromEntries(
      rows.map(({ name, body_sha256 }) => [name, { hash: body_sha256.toString('hex') }]),
    )
  },
})
