import Joi from 'joi'
import { int, listOf, shape } from '../../jobs/shape.ts'
import { listEdges } from '../../sql/agent-edges.ts'
import { countAgents, listAgents } from '../../sql/agents.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { agentFields, showAgent } from './agent-fields.ts'

export const listAgentsOperation = endpoint('GET', '/agents', {
  area: 'agents',
  summary: 'List agents, the ones that were active last first',
  access: 'key',
  query: shape(
    {},
    {
      project: projectField,
      include_fixtures: Joi.boolean().default(false).description('Agents of test harnesses, too'),
      limit: int(1, 500).default(50),
      offset: int(0, 10_000).default(0),
    },
  ),
  answers: {
    200: Joi.object({
      agents: listOf(Joi.object(agentFields).label('Agent')).required(),
      parent_child_map: Joi.object()
        .pattern(Joi.string(), listOf(Joi.string()))
        .required()
        .description('By agent: the agents it gives work to'),
      total: listMembers.total,
      limit: listMembers.limit,
      offset: listMembers.offset,
    }).label('AgentList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit = 50, offset = 0 } = query
    const projectIds = await readableProjects(sql, principal, query.project)
    const { orgId } = principal
    const filter = { orgId, projectIds, includeFixtures: query.include_fixtures ?? false }
    const [rows, total, edges] = await Promise.all([
      listAgents(sql, filter, limit, offset),
      countAgents(sql, filter),
      listEdges(sql, filter, MAX_EDGES),
    ])
    const children = Map.groupBy(edges, ({ parent }) => parent)
    const parent_child_map = Object.fromEntries(
      [...children].map(([parent, all]) => [parent, [...new Set(all.map(({ child }) => child))]]),
    )
    return { agents: rows.map(showAgent), parent_child_map, total, limit, offset }
  },
})

const MAX_EDGES = 10_000
