import { ARM_OUTCOMES } from '../../jobs/rules/skills/benchmark-run.ts'
import type { Arms, BenchmarkCase } from '../../jobs/rules/skills/benchmark-run.ts'
import { bool, int, oneOf, shape, text } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'

const MAX_TOKENS = 1e9
const MAX_TURNS = 1e6

/** A case of a run, as `POST /skills/{skill_name}/benchmarks` takes it. */
export const benchmarkCase = shape(
  { case_id: text(), with: oneOf(...ARM_OUTCOMES), without: oneOf(...ARM_OUTCOMES) },
  { tokens: arms(MAX_TOKENS).label('TokensOfRuns'), turns: arms(MAX_TURNS).label('TurnsOfRuns') },
).label('BenchmarkCase')

const runOfCase = shape(
  {},
  { task_attempted: bool(), total_tokens: int(0, MAX_TOKENS), turns: int(0, MAX_TURNS) },
)

/** A case as the runner skillevaluation writes it. */
export const runnerCase = shape(
  {
    case_name: text(),
    outcome: oneOf('flip_to_pass', 'pass_kept', 'fail_kept', 'flip_to_fail', 'error'),
  },
  { with_skill: runOfCase, without_skill: runOfCase },
).label('RunnerCase')

/** A case in either form; undefined for what is none. */
export function readCase(value: unknown): BenchmarkCase | undefined {
  const own = benchmarkCase.validate(value)
  if (!own.error) return own.value
  const written = runnerCase.validate(value)
  return written.error ? undefined : fromRunner(written.value)
}

function fromRunner({ case_name, outcome, with_skill, without_skill }: Valid<typeof runnerCase>) {
  const ended = OUTCOMES[outcome]
  return {
    case_id: case_name,
    with: with_skill?.task_attempted === false ? SKIPPED[ended.with] : ended.with,
    without: without_skill?.task_attempted === false ? SKIPPED[ended.without] : ended.without,
    tokens: both(with_skill?.total_tokens, without_skill?.total_tokens),
    turns: both(with_skill?.turns, without_skill?.turns),
  }
}

function both(withSkill: number | undefined, without: number | undefined): Arms | undefined {
  if (withSkill === undefined || without === undefined) return undefined
  return { with: withSkill, without }
}

function arms(max: number) {
  return shape({ with: int(0, max), without: int(0, max) })
}

/** What the runner's words say of the run with the skill and of the one without it. */
const OUTCOMES = {
  flip_to_pass: { with: 'passed', without: 'failed' },
  pass_kept: { with: 'passed', without: 'passed' },
  fail_kept: { with: 'failed', without: 'failed' },
  flip_to_fail: { with: 'failed', without: 'passed' },
  error: { with: 'errored', without: 'errored' },
} as const

/** How a run ended that the runner says was not attempted: it calls one with an error that, too. */
const SKIPPED = {
  passed: 'not_attempted',
  failed: 'not_attempted',
  errored: 'errored',
} as const
