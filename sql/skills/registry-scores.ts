import type { BenchmarkSummary } from '../../jobs/rules/skills/benchmark-run.ts'
import type { SkillScore } from '../../jobs/rules/skills/skill-score.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

/** What the registry shows of the evidence of a skill; null where there is none. */
export interface RegistryScore extends SkillScore {
  rating_count: number
  /** The mean of the ratings, 0 to 1. */
  avg_rating: number | null
  /** The share of its evaluated traces that passed. */
  avg_pass_rate: number | null
  /** What it adds to the share of passed cases, -1 to 1. */
  lift: number | null
  /** The share of the tokens that it saves; negative where it costs some. */
  token_saving: number | null
  benchmark: BenchmarkSummary | null
  /** Of when the newest of the evidence is. */
  evidence_at: Date | null
}

/** The public version of a skill; undefined when the skill is not public. */
export async function findPublicVersion(sql: Queryable, skillId: string) {
  const [row] = await sql<{ current_version_id: string }[]>`
    select current_version_id from registry_skills where skill_id = ${skillId}`
  return row?.current_version_id
}

/**
 * Shows in the registry what a skill's evidence came to.
 * @param read of which version the evidence was read, and when: where another one is public by now, or a
 * later reading is shown, nothing is written
 */
export async function updateScore(
  sql: Queryable,
  skillId: string,
  read: { versionId: string; at: Date },
  score: RegistryScore,
) {
  await sql`
    update registry_skills set tier = ${score.tier}, score = ${score.score}, bench = ${score.bench},
      live = ${score.live}, rating = ${score.rating}, rating_count = ${score.rating_count},
      avg_rating = ${score.avg_rating}, avg_pass_rate = ${score.avg_pass_rate}, lift = ${score.lift},
      token_saving = ${score.token_saving},
      benchmark = ${score.benchmark && jsonText(score.benchmark)}::text::jsonb,
      evidence_at = ${score.evidence_at}, scored_at = ${read.at}
    where skill_id = ${skillId} and current_version_id = ${read.versionId}
      and (scored_at is null or scored_at <= ${read.at})`
}

/** Public skills that were scored longest ago, before a time or never; those first. */
export async function listScoredBefore(sql: Queryable, before: Date, limit: number) {
  return sql<PublicSkill[]>`
    select skill_id, org_id from registry_skills
    where scored_at is null or scored_at < ${before}
    order by scored_at nulls first, skill_id limit ${limit}`
}

/** A public skill and its owner. */
export interface PublicSkill {
  skill_id: string
  org_id: string
}
