import { relatedEdges } from '../../jobs/rules/traces/agent-edges.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { agentPath, findAgent } from './agent.ts'
import { nodesOf, readTopology, topologyBody, topologyQuery } from './topology.ts'

export const showAgentTopology = endpoint('GET', '/agents/{agent_name}/topology', {
  summary: 'The agents that an agent works for and that work for it, over any number of steps',
  access: 'key',
  aggregates: true,
  params: agentPath,
  query: topologyQuery,
  answers: { 200: topologyBody, 404: errorBody },
  async handle({ context, principal, params, query: { since, project } }) {
    const agent = await findAgent(context, principal, params.agent_name, project)
    const filter = { orgId: agent.orgId, projectIds: [agent.projectId], since }
    const { edges, counts } = await readTopology(context.sql, filter)
    const related = relatedEdges(edges, agent.agentName)
    return { nodes: nodesOf([agent.agentName], related, counts), edges: related }
  },
})
