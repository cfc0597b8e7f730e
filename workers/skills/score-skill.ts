import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { summarizeBenchmark } from '../../jobs/rules/skills/benchmark-run.ts'
import type { BenchmarkCounts } from '../../jobs/rules/skills/benchmark-run.ts'
import { EVIDENCE_DAYS, scoreSkill as score } from '../../jobs/rules/skills/skill-score.ts'
import { scoreSkill } from '../../jobs/score-skill.ts'
import { findBenchEvidence, findOwnBenchmark } from '../../sql/skills/benchmark-evidence.ts'
import { findPublicVersion, updateScore } from '../../sql/skills/registry-scores.ts'
import { findLiveEvidence, findRatingEvidence } from '../../sql/skills/skill-evidence.ts'
import { handler } from '../runtime/handler.ts'

/** Reads all evidence anew, so that what was deleted, or is too old by now, counts no more. */
export const scoreSkillHandler = handler(scoreSkill, async ({ skill_id }, { sql, now }) => {
  const at = now()
  const versionId = await findPublicVersion(sql, skill_id)
  if (versionId === undefined) return {}
  const since = new Date(at.getTime() - EVIDENCE_DAYS * DAY_MS)
  const read = { skillId: skill_id, since, until: at }
  const bench = await findBenchEvidence(sql, read)
  const live = await findLiveEvidence(sql, read)
  const rating = await findRatingEvidence(sql, read)
  const run = await findOwnBenchmark(sql, read)
  const scored = score({ bench, live, rating })
  await updateScore(
    sql,
    skill_id,
    { versionId, at },
    {
      ...scored,
      rating_count: rating.count,
      avg_rating: rating.count > 0 ? rating.mean : null,
      avg_pass_rate: live.traces > 0 ? live.passed / live.traces : null,
      ...(run ? deltasOf(run) : { lift: null, token_saving: null }),
      benchmark: run ? summarizeBenchmark(run) : null,
      evidence_at: latestOf([bench.newest_at, live.newest_at, rating.newest_at]),
    },
  )
  return { tier: scored.tier, score: scored.score }
})

function deltasOf({ compared, passed_with, passed_without, ...run }: BenchmarkCounts) {
  const { tokens_with, tokens_without } = run
  return {
    lift: (passed_with - passed_without) / compared,
    token_saving:
      tokens_with === null || !tokens_without
        ? null
        : Math.max(1 - tokens_with / tokens_without, LEAST_SAVING),
  }
}

function latestOf(times: readonly (Date | null)[]) {
  const [latest] = times.filter((time) => time !== null).toSorted((a, b) => Number(b) - Number(a))
  return latest ?? null
}

/** What the column can hold. */
const LEAST_SAVING = -999
