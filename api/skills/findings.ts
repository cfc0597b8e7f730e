import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findFindings } from '../../sql/skills/safety.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { nullable, times } from '../fields.ts'

/** What the safety scan says of a version. */

export const findingsMembers = {
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
  scanned_at: nullable(times),
  scanner_version: nullable(Joi.number().integer()),
}

/** The findings of the last scan of a version, where it counts; without one there are none. */
export async function viewFindings(sql: Queryable, orgId: string, version: SkillVersionRow) {
  const found = await findFindings(sql, orgId, version)
  return {
    reason_codes: version.reason_codes,
    findings: found?.findings ?? [],
    finding_count: found?.finding_count ?? 0,
    scanned_at: found?.scanned_at ?? null,
    scanner_version: found?.scanner_version ?? null,
  }
}
