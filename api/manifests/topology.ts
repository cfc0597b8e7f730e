import Joi from 'joi'
import { listOf, shape, time } from '../../jobs/shape.ts'
import { listEdges } from '../../sql/traces/agent-edges.ts'
import type { EdgeRow } from '../../sql/traces/agent-edges.ts'
import { countTracesByAgent } from '../../sql/traces/trace-counts.ts'
import type { CountFilter } from '../../sql/traces/trace-counts.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { projectField, times } from '../fields.ts'

export const topologyQuery = shape(
  {},
  { since: time().description('Traces started on its day in UTC or later'), project: projectField },
)

export const topologyBody = Joi.object({
  nodes: listOf(
    Joi.object({
      agent_name: Joi.string().required(),
      trace_count: Joi.number().integer().required(),
    }).label('TopologyNode'),
  ).required(),
  edges: listOf(
    Joi.object({
      parent: Joi.string().required(),
      child: Joi.string().required(),
      via: Joi.string().valid('handoff', 'parent_trace', 'span').required(),
      trace_count: Joi.number().integer().required(),
      last_seen_at: times
        .required()
        .description(
          'Start of the newest trace that tells so; where that was deleted it stays, as long as another one of its day in UTC tells so',
        ),
    }).label('TopologyEdge'),
  ).required(),
}).label('Topology')

/** The edges between agents, and how many traces each agent has. */
export async function readTopology(sql: Queryable, filter: Omit<CountFilter, 'agentName'>) {
  const [edges, rows] = await Promise.all([
    listEdges(sql, filter, MAX_EDGES),
    countTracesByAgent(sql, filter, MAX_NODES),
  ])
  return { edges, counts: new Map(rows.map((row) => [row.agent_name, row.trace_count])) }
}

/** The agents named and those at the ends of an edge, by name. */
export function nodesOf(
  names: readonly string[],
  edges: readonly EdgeRow[],
  counts: ReadonlyMap<string, number>,
) {
  const all = new Set([...names, ...edges.flatMap(({ parent, child }) => [parent, child])])
  return [...all]
    .sort()
    .map((agent_name) => ({ agent_name, trace_count: counts.get(agent_name) ?? 0 }))
}

const MAX_EDGES = 10_000
const MAX_NODES = 10_000
