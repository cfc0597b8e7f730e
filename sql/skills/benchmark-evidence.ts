import type { BenchmarkCounts } from '../../jobs/rules/skills/benchmark-run.ts'
import type { BenchEvidence } from '../../jobs/rules/skills/skill-score.ts'
import type { Queryable } from '../core/db.ts'
import { onlyRow } from '../core/db.ts'
import { mayBeTold, ORGANIZATIONS_LEAST, scoredVersions } from './scored-versions.ts'
import type { Dated, ScoredSkill } from './scored-versions.ts'

/**
 * The newest run of each organization that is not void: of the public body, else of that before. Of the
 * owner and of each install the newest 100 runs are looked at.
 *
 * A run is repeated by another one of the same suite and body whose share of passed cases differs by at
 * most a tenth. It is reproduced when another key of the owner repeated it, or the newest runs of as many
 * other organizations as sums of theirs are told of: else the tier would tell what one of them has.
 */
export async function findBenchEvidence(
  sql: Queryable,
  skill: ScoredSkill,
): Promise<BenchEvidence & Dated> {
  const rows = await sql<(BenchEvidence & Dated)[]>`
    ${withRuns(sql, skill)}
    select coalesce(sum(cases), 0)::int as cases, coalesce(sum(passed), 0)::int as passed,
      coalesce(sum(flipped), 0)::int as "flippedToFail",
      coalesce(bool_or(is_reproduced), false) as "isReproduced", max(newest_at) as newest_at
    from (
      select sum(a.compared) as cases, sum(a.passed_with) as passed, sum(a.flipped_to_fail) as flipped,
        max(a.run_at) as newest_at,
        bool_or(a.is_own and exists (
            select from runs b
            where b.is_own and b.created_by_key_id is distinct from a.created_by_key_id
              and ${isRepeated(sql)})
          or ${ORGANIZATIONS_LEAST} <= (
            select count(*) from newest b
            where not b.is_own and b.org_id <> a.org_id and ${isRepeated(sql)})) as is_reproduced
      from newest a group by a.is_own ${mayBeTold(sql, sql`a`)}) as legs`
  return onlyRow(rows)
}

/** The run by which the owner's bench is told; undefined where there is none. */
export async function findOwnBenchmark(sql: Queryable, skill: ScoredSkill) {
  const [row] = await sql<BenchmarkCounts[]>`
    ${withRuns(sql, skill)}
    select cases, errored, compared, passed_with, passed_without, flipped_to_fail, tokens_with,
      tokens_without, turns_with, turns_without, voided
    from newest where is_own`
  return row
}

/** Whether run `a` and run `b` of the same suite and body came to about the same. */
function isRepeated(sql: Queryable) {
  return sql`b.suite_sha256 = a.suite_sha256 and b.body_sha256 = a.body_sha256
    and 10 * abs(a.passed_with::int8 * b.compared - b.passed_with::int8 * a.compared)
      <= a.compared::int8 * b.compared`
}

function withRuns(sql: Queryable, skill: ScoredSkill) {
  return sql`
    with versions as materialized (${scoredVersions(sql, skill)}),
    runs as materialized (
      select b.*, v.body_sha256, v.is_current, v.is_own
      from (select distinct org_id, skill_id from versions) s cross join lateral (
          select * from skill_benchmarks b
          where b.org_id = s.org_id and b.skill_id = s.skill_id and b.run_at > ${skill.since}
          order by b.run_at desc, b.id desc limit ${RUNS_MOST}) b
        join versions v on v.org_id = b.org_id and v.id = b.version_id
      where not b.voided and b.compared > 0
    ),
    newest as (
      select distinct on (org_id) * from runs order by org_id, is_current desc, run_at desc, id desc)`
}

const RUNS_MOST = 100
