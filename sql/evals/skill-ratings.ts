import { SKILL_RATER_CONFIG, SKILL_RATING } from '../../jobs/rules/skills/skill-rater.ts'
import type { Fragment, Queryable } from '../core/db.ts'

/**
 * The condition that a score is a rating of a skill, which tells all that it has to of where it comes from.
 * It says nothing of the trace: others of its name are ordinary scores.
 */
export function isSkillRating(sql: Queryable, score: Fragment) {
  return sql`${score}.name = ${SKILL_RATING} and ${score}.source in ('llm_judge', 'human')
    and not exists (
      select from unnest(${SKILL_RATER_CONFIG.provenance.fields}::text[]) field
      where coalesce(${score}.metadata ->> field, '') = '')`
}
