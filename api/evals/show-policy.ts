import { policyFor, policyHash } from '../../jobs/rules/evals/decision-policy.ts'
import { shape, textReference } from '../../jobs/shape.ts'
import { listCurrentPolicies } from '../../sql/evals/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProject } from '../projects.ts'
import { policyBody, viewPolicy } from './policy.ts'

export const showPolicy = endpoint('GET', '/decision-policy', {
  summary: 'Read the decision policy that holds, of a project or for one of its agents',
  access: 'key',
  query: shape({}, { agent_name: textReference(), project: projectField }),
  answers: { 200: policyBody, 404: errorBody },
  async handle({ context: { sql }, principal, query }) {
    const projectId = await readableProject(sql, principal, query.project)
    const policies = await listCurrentPolicies(sql, principal.orgId, projectId)
    const policy = policyFor(policies, query.agent_name ?? '')
    const content_hash = policyHash(policy.settings)
    const unset = { content_hash, created_by: null, created_at: null }
    return viewPolicy({ ...unset, ...policy })
  },
})
