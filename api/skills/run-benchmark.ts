import { endpoint } from '../endpoint.ts'
import { ApiError } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { findVisibleSkill, skillPath } from './skill.ts'

export const runBenchmark = endpoint('POST', '/skills/{skill_name}/benchmark/run', {
  summary: 'Not supported: benchmarks are run by clients',
  description:
    'No model is called here: 501 `not_supported`. Run the suite elsewhere, and store what it found.',
  access: 'key',
  params: skillPath,
  answers: { 404: errorBody, 501: errorBody },
  async handle({ context: { sql }, principal, params }) {
    await findVisibleSkill(sql, principal, params.skill_name)
    throw new ApiError(
      501,
      'not_supported',
      'No model is called here: run the suite elsewhere and store what it found',
    )
  },
})
