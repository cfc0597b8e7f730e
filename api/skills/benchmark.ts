import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { CLOCK_AHEAD_MS } from '../../jobs/rules/core/time.ts'
import {
  BENCHMARK_VERDICTS,
  countCases,
  summarizeBenchmark,
} from '../../jobs/rules/skills/benchmark-run.ts'
import type { BenchmarkCase } from '../../jobs/rules/skills/benchmark-run.ts'
import { scoreSkill } from '../../jobs/score-skill.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { markScoresDue } from '../../sql/skills/scores-due.ts'
import { storeBenchmark } from '../../sql/skills/skill-benchmarks.ts'
import type { BenchmarkRow } from '../../sql/skills/skill-benchmarks.ts'
import type { ApiContext } from '../context.ts'
import { validationError } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { lockVisibleSkill } from './skill.ts'
import { findVisibleVersion } from './version.ts'

/** Cases of one run. */
export const MAX_CASES = 5000

const counted = (description: string) => Joi.number().integer().required().description(description)
const delta = (description: string) => nullable(Joi.number()).description(description)

export const benchmarkBody = Joi.object({
  id: Joi.string().guid().required(),
  version_id: Joi.string().guid().required(),
  version_number: Joi.number().integer().required(),
  suite: Joi.string().required(),
  suite_sha256: Joi.string().required(),
  runner: Joi.string().required(),
  run_at: times.required(),
  total_cases: counted('As sent'),
  errored_cases: counted('With an error in either run'),
  compared_cases: counted('Attempted in both runs without an error: what follows is of these'),
  passed_cases: counted('With the skill'),
  passed_without: counted('Without the skill'),
  flipped_to_fail: counted('Passed without the skill and failed with it'),
  voided: Joi.boolean()
    .required()
    .description('More than a quarter of the cases had an error: the run counts for nothing'),
  verdict: Joi.string()
    .valid(...BENCHMARK_VERDICTS)
    .required()
    .description('Whether all compared cases passed with the skill, none or some; error if voided'),
  never_hurt: Joi.boolean().required().description('`flipped_to_fail` is 0'),
  pass_rate_delta_pts: delta('What the skill adds, in points of 100; null with nothing compared'),
  tokens_delta_pct: delta('Likewise in percent; null where the cases tell none'),
  turns_delta_pct: delta('Likewise'),
  created_at: times.required(),
}).label('SkillBenchmark')

export function viewBenchmark(row: BenchmarkRow) {
  return {
    id: row.id,
    version_id: row.version_id,
    version_number: row.version_number,
    suite: row.suite,
    suite_sha256: row.suite_sha256.toString('hex'),
    runner: row.runner,
    run_at: row.run_at,
    ...summarizeBenchmark(row),
    errored_cases: row.errored,
    compared_cases: row.compared,
    passed_without: row.passed_without,
    flipped_to_fail: row.flipped_to_fail,
    voided: row.voided,
    created_at: row.created_at,
  }
}

/** A run as a client tells it. */
export interface SentBenchmark {
  readonly suite: string
  /** 64 hexadecimal digits. */
  readonly suite_sha256: string
  readonly version?: string | number | undefined
  readonly runner: string
  readonly run_at: Date
  readonly cases: readonly BenchmarkCase[]
}

/**
 * Stores a run, and has the skill scored anew.
 * @throws ApiError 404 for an unknown skill or version, 422 for a run of the future
 */
export async function recordRun(
  { sql, queue, now }: ApiContext,
  principal: Principal,
  skillName: string,
  { cases, suite, suite_sha256, runner, run_at, version }: SentBenchmark,
) {
  if (run_at.getTime() > now().getTime() + CLOCK_AHEAD_MS) {
    throw validationError([{ field: 'body.run_at', message: 'must not be in the future' }])
  }
  const { orgId, keyId } = principal
  return queue.transaction(sql, async (tx: Transaction) => {
    // So that it is not deleted meanwhile.
    const skill = await lockVisibleSkill(tx, principal, skillName)
    const found = await findVisibleVersion(tx, orgId, skill.id, version)
    const stored = await storeBenchmark(tx, orgId, {
      id: randomUUIDv7(),
      skill_id: skill.id,
      version_id: found.id,
      suite,
      suite_sha256: Buffer.from(suite_sha256, 'hex'),
      runner,
      run_at,
      ...countCases(cases),
      created_by_key_id: keyId,
    })
    if (!stored.isNew) return stored
    await markScoresDue(tx, orgId, [skill.name])
    // Who sends a benchmark looks at what it comes to; the next sweep would do it within the hour.
    if (skill.visibility === 'public') {
      await queue.enqueue(tx, scoreSkill, { skill_id: skill.id }, { orgId, key: skill.id })
    }
    return stored
  })
}
