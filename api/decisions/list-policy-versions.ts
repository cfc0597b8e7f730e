import Joi from 'joi'
import { int, listOf, shape, text } from '../../jobs/shape.ts'
import { listPolicyVersions } from '../../sql/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, projectField } from '../fields.ts'
import { readableProject } from '../projects.ts'
import { policyBody, showPolicy } from './decision-fields.ts'

export const listPolicyVersionsOperation = endpoint('GET', '/decision-policy/versions', {
  area: 'eval-scores',
  summary: 'List the versions of a decision policy, newest first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: text().min(1).description("Default the project's own policy"),
      project: projectField,
      limit: int(1, 500).default(50),
      offset: int(0, 10_000).default(0),
    },
  ),
  answers: {
    200: Joi.object({
      versions: listOf(policyBody).required(),
      total: listMembers.total,
      limit: listMembers.limit,
      offset: listMembers.offset,
    }).label('DecisionPolicyVersions'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { agent_name = '', limit = 50, offset = 0 } = query
    const projectId = await readableProject(sql, principal, query.project)
    const page = { limit, offset }
    const rows = await listPolicyVersions(sql, principal.orgId, projectId, agent_name, page)
    return { versions: rows.map(showPolicy), total: rows[0]?.total ?? 0, limit, offset }
  },
})
