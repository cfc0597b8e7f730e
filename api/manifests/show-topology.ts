import { endpoint } from '../endpoint.ts'
import { readableProjects } from '../projects.ts'
import { nodesOf, readTopology, topologyBody, topologyQuery } from './topology.ts'

export const showTopology = endpoint('GET', '/agents/topology', {
  summary: 'Which agents give work to which, as their traces tell',
  access: 'key',
  aggregates: true,
  query: topologyQuery,
  answers: { 200: topologyBody },
  async handle({ context: { sql }, principal, query: { since, project } }) {
    const projectIds = await readableProjects(sql, principal, project)
    const filter = { orgId: principal.orgId, projectIds, since }
    const { edges, counts } = await readTopology(sql, filter)
    return { nodes: nodesOf([...counts.keys()], edges, counts), edges }
  },
})
