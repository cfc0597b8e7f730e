import { shape } from '../../jobs/shape.ts'
import { agentPath, findAgent } from '../manifests/agent.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { bisectBody, metricField, viewBisect, viewFields } from './bisect.ts'

export const showBisect = endpoint('GET', '/agents/{agent_name}/bisect', {
  summary: 'Read a metric of an agent from version to version, with the regressions found',
  description: 'As it was last computed; `computed_at` is null when it never was.',
  access: 'key',
  params: agentPath,
  query: shape({}, { metric: metricField, project: projectField, ...viewFields }),
  answers: { 200: bisectBody, 404: errorBody },
  async handle({ context, principal, params, query }) {
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    return viewBisect(context.sql, agent, query.metric, query)
  },
})
