import Joi from 'joi'
import { listOf, shape, textReference } from '../../jobs/shape.ts'
import * as decisionPolicies from '../../sql/evals/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, shortListMembers, pageQuery, projectField } from '../fields.ts'
import { pageMembers, readPage } from '../pagination.ts'
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
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({
      versions: listOf(policyBody).required(),
      ...shortListMembers,
    }).label('DecisionPolicyVersions'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { agent_name = '' } = query
    const projectId = await readableProject(sql, principal, query.project)
    const page = readPage(query)
    const { rows, total } = await decisionPolicies.listPolicyVersions(
      sql,
      principal.orgId,
      projectId,
      agent_name,
      page,
    )
    return { versions: rows.map(viewPolicy), ...pageMembers(page, total) }
  },
})
