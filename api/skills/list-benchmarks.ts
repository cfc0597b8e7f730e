import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as benchmarks from '../../sql/skills/skill-benchmarks.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { benchmarkBody, viewBenchmark } from './benchmark.ts'
import { findVisibleSkill, skillPath } from './skill.ts'

export const listBenchmarks = endpoint('GET', '/skills/{skill_name}/benchmarks', {
  summary: 'List the benchmarks of a skill, of all its versions, newest first',
  access: 'key',
  params: skillPath,
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ benchmarks: listOf(benchmarkBody).required(), ...listMembers }).label(
      'SkillBenchmarkList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query: { limit, offset, cursor } }) {
    const { orgId } = principal
    const { id } = await findVisibleSkill(sql, principal, params.skill_name)
    const page = { before: decodeCursor(cursor), limit: limit + 1, offset }
    const [rows, counted] = await Promise.all([
      benchmarks.listBenchmarks(sql, orgId, id, page),
      benchmarks.countBenchmarks(sql, orgId, id, COUNT_LIMIT + 1),
    ])
    return listAnswer('benchmarks', { limit, offset }, rows, counted, viewBenchmark, (row) => [
      row.run_at,
      row.id,
    ])
  },
})
