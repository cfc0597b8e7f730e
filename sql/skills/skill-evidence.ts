import { SKILL_RATER_CONFIG, SKILL_RATING } from '../../jobs/rules/skills/skill-rater.ts'
import type { LiveEvidence, RatingEvidence } from '../../jobs/rules/skills/skill-score.ts'
import type { Queryable } from '../core/db.ts'
import { onlyRow } from '../core/db.ts'
import { isSkillRating } from '../evals/skill-ratings.ts'
import { bareHash } from '../evals/trace-skills.ts'
import { isSameTrace } from '../traces/traces.ts'
import { mayBeTold, scoredVersions } from './scored-versions.ts'
import type { Dated, ScoredSkill } from './scored-versions.ts'

/**
 * The verdicts of the traces that used the scored versions: by the hash of their body, and where a trace
 * tells none by the time in which a version was the newest. Of a skill at most the newest 10,000 traces of
 * its owner are looked at, and the newest 100 of each of its newest 1,000 installs.
 */
export async function findLiveEvidence(
  sql: Queryable,
  skill: ScoredSkill,
): Promise<LiveEvidence & Dated> {
  const rows = await sql<(LiveEvidence & Dated)[]>`
    with versions as materialized (${scoredVersions(sql, skill)}),
    sources as (select distinct org_id, skill_id, name, is_own from versions),
    uses as (
      select distinct u.org_id, u.project_id, u.trace_id, u.started_at, s.is_own
      from sources s cross join lateral (
        select t.org_id, t.project_id, t.trace_id, t.skill_hash, t.started_at from trace_skills t
        where t.org_id = s.org_id and t.skill_name = s.name
          and t.started_at > ${skill.since} and t.started_at <= ${skill.until}
        order by t.started_at desc
        limit case when s.is_own then ${OWN_MOST}::int else ${INSTALL_MOST}::int end) u
      where exists (
        select from versions v where v.org_id = s.org_id and v.skill_id = s.skill_id
          and (u.skill_hash = encode(v.body_sha256, 'hex') or u.skill_hash = ''
            and u.started_at >= v.newest_from and u.started_at < v.newest_until))
    )
    select coalesce(sum(traces), 0)::int as traces, coalesce(sum(passed), 0)::float8 as passed,
      max(newest_at) as newest_at
    from (
      select count(*) as traces, max(u.started_at) as newest_at,
        sum(case d.eval_verdict when 'pass' then 1 when 'review' then 0.5 else 0 end) as passed
      from uses u
        join trace_ids k on k.org_id = u.org_id and k.project_id = u.project_id
          and k.trace_id = u.trace_id
        join verdicts d on ${isSameTrace(sql, sql`d`, sql`k`)}
      where d.eval_verdict is not null
      group by u.is_own ${mayBeTold(sql, sql`u`)}) as legs`
  return onlyRow(rows)
}

/**
 * The ratings of the scored versions that tell where they come from, were made with the present prompt and
 * of what the trace says now: of each trace the newest of each model. Of each version at most the newest
 * 10,000 are looked at, and 100 of an install.
 */
export async function findRatingEvidence(
  sql: Queryable,
  skill: ScoredSkill,
): Promise<RatingEvidence & Dated> {
  const rows = await sql<(RatingEvidence & Dated)[]>`
    with versions as materialized (${scoredVersions(sql, skill)}),
    ratings as (
      select distinct on (s.org_id, s.project_id, s.trace_id, s.metadata ->> 'rater_model')
        s.org_id, v.is_own, s.value, t.started_at
      from versions v cross join lateral (
        select * from eval_scores e
        where e.org_id = v.org_id and e.name = ${SKILL_RATING}
          and e.metadata ->> 'skill_version_id' = v.id::text
        order by e.updated_at desc
        limit case when v.is_own then ${OWN_MOST}::int else ${INSTALL_MOST}::int end) s
        join traces t on ${isSameTrace(sql, sql`t`, sql`s`)}
      where ${isSkillRating(sql, sql`s`)} and s.value is not null
        and t.started_at > ${skill.since} and t.started_at <= ${skill.until}
        and ${bareHash(sql, sql`s.metadata ->> 'prompt_sha256'`)} = ${SKILL_RATER_CONFIG.prompt_sha256}
        and ${bareHash(sql, sql`s.metadata ->> 'trace_hash'`)} = encode(t.content_hash, 'hex')
      order by s.org_id, s.project_id, s.trace_id, s.metadata ->> 'rater_model', s.updated_at desc,
        s.score_id desc
    )
    select coalesce(sum(ratings), 0)::int as count, coalesce(sum(total) / sum(ratings), 0) as mean,
      max(newest_at) as newest_at
    from (
      select count(*) as ratings, sum(value) as total, max(started_at) as newest_at
      from ratings r group by r.is_own ${mayBeTold(sql, sql`r`)}) as legs`
  return onlyRow(rows)
}

/** Observations that are looked at of the owner, and of each install: no organization outweighs all others. */
const OWN_MOST = 10_000
const INSTALL_MOST = 100
