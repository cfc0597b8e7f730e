import Joi from 'joi'
import { countVerdicts } from '../../sql/evals/verdict-counts.ts'
import { readAgent } from '../../sql/manifests/agents.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectQuery } from '../fields.ts'
import { agentFields, agentPath, findAgent, viewAgent } from './agent.ts'
import { verdictCountsBody } from './report.ts'

export const showAgent = endpoint('GET', '/agents/{agent_name}', {
  summary: 'Read an agent with what its traces were decided to be',
  access: 'key',
  aggregates: true,
  params: agentPath,
  query: projectQuery,
  answers: {
    200: Joi.object({
      ...agentFields,
      verdict_counts: verdictCountsBody.required(),
      manifest_versions: Joi.number().integer().required(),
    }).label('AgentDetails'),
    404: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const agent = await findAgent(context, principal, params.agent_name, query.project)
    const filter = { ...agent, projectIds: [agent.projectId] }
    const [row, decided] = await Promise.all([
      readAgent(context.sql, agent),
      countVerdicts(context.sql, filter),
    ])
    const counts = Object.fromEntries(decided.map(({ verdict, n }) => [verdict, n]))
    return {
      ...viewAgent(row),
      verdict_counts: { keep: 0, repair: 0, replay: 0, drop: 0, ...counts },
      manifest_versions: row.manifest_versions,
    }
  },
})
