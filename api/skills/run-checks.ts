import Joi from 'joi'
import { bool, listOf, shape } from '../../jobs/shape.ts'
import { BANDS } from '../../jobs/rules/skills/skill.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findFindings } from '../../sql/skills/safety.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, times } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
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
  reason_codes: listOf(Joi.string()).required(),
  findings: listOf(
    Joi.object({
      code: Joi.string().required(),
      severity: Joi.string().valid('critical', 'warning').required(),
      path: Joi.string()
        .required()
        .description('SKILL.md for the body; or what is said of the skill, such as description'),
      line: Joi.number().integer().required().description('From 1, within the body or file'),
      excerpt: Joi.string()
        .allow('')
        .required()
        .description('At most 80 characters, without what is secret or personal'),
      downgraded: Joi.boolean()
        .required()
        .description('It would be critical if it were no example'),
    }).label('SafetyFinding'),
  )
    .required()
    .description('The first hundred, critical ones first'),
  finding_count: Joi.number().integer().required().description('Of all'),
  scanned_at: nullable(times).required(),
  scanner_version: nullable(Joi.number().integer()).required(),
  job_id: Joi.string().guid(),
}).label('SkillChecks')

export const runChecks = endpoint('POST', '/skills/{skill_name}/checks/run', {
  summary: 'Scan the newest version of a skill for what would harm who installs it',
  description:
    'Long work: 200 with what was found, or 202. Every new version is scanned without being asked for. Rules decide and no model: what they find has to be looked at, and what they do not find may still do harm.',
  access: 'key',
  params: skillPath,
  query: shape({}, { deep: bool().description('Of either value: see `intent_status`') }),
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
  const found = await findFindings(sql, orgId, version)
  return {
    skill_safety: version.band,
    safety_status: version.band,
    content_status: version.band,
    intent_status: 'not_reviewed',
    intent_review: { summary: 'What the skill is meant to do was not reviewed.' },
    version_id: version.id,
    version: version.version_number,
    reason_codes: version.reason_codes,
    findings: found?.findings ?? [],
    finding_count: found?.finding_count ?? 0,
    scanned_at: found?.scanned_at ?? null,
    scanner_version: found?.scanner_version ?? null,
  }
}
