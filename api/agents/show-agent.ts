import Joi from 'joi'
import { shape } from '../../jobs/shape.ts'
import { countAgentVerdicts, readAgent } from '../../sql/agents.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { verdictCountsBody } from '../manifests/report-fields.ts'
import { agentFields, agentPath, showAgent } from './agent-fields.ts'
import { findAgent } from './find-agent.ts'

export const showAgentOperation = endpoint('GET', '/agents/{agent_name}', {
  area: 'agents',
  summary: 'Read an agent with what its traces were decided to be',
  access: 'key',
  params: agentPath,
  query: shape({}, { project: projectField }),
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
    const [row, counts] = await Promise.all([
      readAgent(context.sql, agent),
      countAgentVerdicts(context.sql, agent),
    ])
    return {
      ...showAgent(row),
      verdict_counts: { keep: 0, repair: 0, replay: 0, drop: 0, ...counts },
      manifest_versions: row.manifest_versions,
    }
  },
})
