import Joi from 'joi'
import { listOf, shape, textReference } from '../../jobs/shape.ts'
import * as decisionPolicies from '../../sql/evals/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, offsetMembers, offsetQuery, projectField } from '../fields.ts'
import { readableProject } from '../projects.ts'
import { policyBody, viewPolicy } from './policy.ts'

export const listPolicyVersions = endpoint('GET', '/decision-policy/versions', {
  summary: 'List the versions of a decision policy, newest first',
  access: 'key',
  query: shape(
    {},
    {
      agent_name: textReference().description("Default the project's own policy"),
      project: projectField,
      ...offsetQuery,
    },
  ),
  answers: {
    200: Joi.object({
      versions: listOf(policyBody).required(),
      ...offsetMembers,
    }).label('DecisionPolicyVersions'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { agent_name = '', limit, offset } = query
    const projectId = await readableProject(sql, principal, query.project)
    const page = { limit, offset }
    const rows = await decisionPolicies.listPolicyVersions(
      sql,
      principal.orgId,
      projectId,
      agent_name,
      page,
    )
    return { versions: rows.map(viewPolicy), total: rows[0]?.total ?? 0, limit, offset }
  },
})
