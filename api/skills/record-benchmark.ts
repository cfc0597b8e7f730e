import type Joi from 'joi'
import type { BenchmarkCase } from '../../jobs/rules/skills/benchmark-run.ts'
import { listOf, shape, text, time } from '../../jobs/shape.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { benchmarkCase } from './benchmark-case.ts'
import { benchmarkBody, MAX_CASES, recordRun, viewBenchmark } from './benchmark.ts'
import { hashField } from './members.ts'
import { skillPath } from './skill.ts'
import { versionField } from './version.ts'

export const recordBenchmark = endpoint('POST', '/skills/{skill_name}/benchmarks', {
  summary: 'Store what a benchmark of a skill found',
  description:
    'Each case was run with the skill and without it. The same suite run over the same version by the same runner at the same time is the same run: 200, and what was stored first stays. The score of a published skill follows within an hour or so.',
  access: 'key',
  params: skillPath,
  body: shape(
    {
      suite: text(),
      suite_sha256: hashField,
      runner: text(),
      run_at: time(),
      cases: listOf(benchmarkCase).min(1).max(MAX_CASES).custom(refuseRepeated),
    },
    { version: versionField },
  )
    .label('BenchmarkRequest')
    .example({
      suite: 'orders',
      suite_sha256: 'ab'.repeat(32),
      runner: 'my-runner 1.0',
      run_at: '2026-01-02T03:04:05Z',
      cases: [{ case_id: 'late-parcel', with: 'passed', without: 'failed' }],
    }),
  answers: { 200: benchmarkBody, 201: benchmarkBody, 404: errorBody },
  async handle({ context, principal, params, body }) {
    const { benchmark, isNew } = await recordRun(context, principal, params.skill_name, body)
    return new Answer(isNew ? 201 : 200, viewBenchmark(benchmark))
  },
})

/** joi's own rule compares each with each. */
function refuseRepeated(cases: readonly BenchmarkCase[], { message }: Joi.CustomHelpers) {
  const known = new Set<string>()
  for (const { case_id } of cases) {
    if (known.has(case_id)) return message({ custom: `{#label} must name ${case_id} once` })
    known.add(case_id)
  }
  return cases
}
