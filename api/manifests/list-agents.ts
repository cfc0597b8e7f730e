import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listEdges } from '../../sql/traces/agent-edges.ts'
import { listAgents as listKnownAgents } from '../../sql/manifests/agents.ts'
import { endpoint } from '../endpoint.ts'
import { shortListMembers, pageQuery, projectField } from '../fields.ts'
import { pageMembers, readPage } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { agentFields, viewAgent } from './agent.ts'

export const listAgents = endpoint('GET', '/agents', {
  summary: 'List agents, the ones that were active last first',
  access: 'key',
  aggregates: true,
  query: shape(
    {},
    {
      project: projectField,
      include_fixtures: Joi.boolean().default(false).description('Agents of test harnesses, too'),
      ...pageQuery,
    },
  ),
  answers: {
    200: Joi.object({
      agents: listOf(Joi.object(agentFields).label('Agent')).required(),
      parent_child_map: Joi.object()
        .pattern(Joi.string(), listOf(Joi.string()))
        .required()
        .description('By agent: the agents it gives work to'),
      ...shortListMembers,
    }).label('AgentList'),
  },
  async handle({ context: { sql }, principal, query }) {
    const page = readPage(query)
    const projectIds = await readableProjects(sql, principal, query.project)
    const { orgId } = principal
    const filter = { orgId, projectIds, includeFixtures: query.include_fixtures }
    const [{ agents, total }, edges] = await Promise.all([
      listKnownAgents(sql, filter, page.limit, page.offset),
      listEdges(sql, filter, MAX_EDGES),
    ])
    const children = Map.groupBy(edges, ({ parent }) => parent)
    const parent_child_map = Object.fromEntries(
      [...children].map(([parent, all]) => [parent, [...new Set(all.map(({ child }) => child))]]),
    )
    return { agents: agents.map(viewAgent), parent_child_map, ...pageMembers(page, total) }
  },
})

const MAX_EDGES = 10_000
