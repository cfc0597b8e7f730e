import Joi from 'joi'
import { bool, shape } from '../../jobs/shape.ts'
import { BANDS } from '../../jobs/rules/skills/skill.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { findingsMembers, viewFindings } from './findings.ts'
import { submitScan } from './scan.ts'
import { findVisibleSkill, newestVersion, skillPath } from './skill.ts'

const band = Joi.string().valid(...BANDS)

const checksBody = Joi.object({
  skill_safety: band.required().description('The band: a review wins over the scan'),
  safety_status: band.required().description('The same'),
  content_status: band.required().description('The same: the scan is of the content'),
  intent_status: Joi.string()
    .valid('not_reviewed')
    .required()
    .description('No model is called here'),
  intent_review: Joi.object({ summary: Joi.string().required() })
    .required()
    .label('SkillIntentReview'),
  version_id: Joi.string().guid().required(),
  version: Joi.number().integer().required(),
  ...findingsMembers,
  job_id: Joi.string().guid(),
}).label('SkillChecks')

export const runChecks = endpoint('POST', '/skills/{skill_name}/checks/run', {
  summary: 'Scan the newest version of a skill for what would harm who installs it',
  description:
    'Long work: 200 with what was found, or 202. Every new version is scanned without being asked for. Rules decide and no model: what they find has to be looked at, and what they do not find may still do harm.',
  access: 'key',
  params: skillPath,
  query: shape({}, { deep: bool().description('Of either value: see `intent_status`') }),
  headers: waitHeaders,
  answers: { 200: checksBody, 202: checksBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params } = call
    const { sql } = context
    const { orgId } = principal
    const skill = await findVisibleSkill(sql, principal, params.skill_name)
    const newest = await newestVersion(sql, orgId, skill.id)
    const jobId = await submitScan(context, principal, newest)
    return answerLongWork(call, jobId, 200, () => viewChecks(sql, orgId, skill.id))
  },
})

/** What is said of the newest version of a skill, and the findings of its last scan where it counts. */
async function viewChecks(sql: Queryable, orgId: string, skillId: string) {
  const version = await newestVersion(sql, orgId, skillId)
  return {
    skill_safety: version.band,
    safety_status: version.band,
    content_status: version.band,
    intent_status: 'not_reviewed',
    intent_review: { summary: 'What the skill is meant to do was not reviewed.' },
    version_id: version.id,
    version: version.version_number,
    ...(await viewFindings(sql, orgId, version)),
  }
}
