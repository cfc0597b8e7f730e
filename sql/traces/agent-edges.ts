import type { AgentEdge } from '../../jobs/rules/traces/agent-edges.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { isSameTrace, ofTraces } from './traces.ts'

export type TraceEdge = AgentEdge & { trace_id: string; seen_at: Date }

/** One edge, with counts over all traces that contain it. */
export interface EdgeRow {
  parent: string
  child: string
  via: 'handoff' | 'parent_trace' | 'span'
  trace_count: number
  last_seen_at: Date
}

/** Leaves edges that are stored already as they are. */
export async function insertEdges(
  tx: Transaction,
  orgId: string,
  projectId: string,
  edges: readonly TraceEdge[],
) {
  await tx`
    insert into agent_edges (org_id, project_id, trace_id, parent, child, via, seen_at)
    select ${orgId}, ${projectId}, trace_id, parent, child, via, seen_at
    from json_populate_recordset(null::agent_edges, ${jsonText(edges)}::text::json)
    order by trace_id
    on conflict do nothing`
}

/** Edges from these traces to their parent traces, and to them from their child traces. */
export async function insertParentEdges(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  await tx`
    with related as (
      select trace_id, parent_trace_id, agent_name, started_at from traces
      where ${ofTraces(tx, orgId, projectId, traceIds)}
        and parent_trace_id is not null
      union
      select trace_id, parent_trace_id, agent_name, started_at from traces
      where org_id = ${orgId} and project_id = ${projectId}
        and parent_trace_id = any(${traceIds}::text[])
    )
    insert into agent_edges (org_id, project_id, trace_id, parent, child, via, seen_at)
    select ${orgId}, ${projectId}, c.trace_id, p.agent_name, c.agent_name, 'parent_trace', c.started_at
    from related c
    join trace_ids k on k.org_id = ${orgId} and k.project_id = ${projectId}
      and k.trace_id = c.parent_trace_id
    join traces p on ${isSameTrace(tx, tx`p`, tx`k`)}
    where p.agent_name <> c.agent_name
    order by c.trace_id
    on conflict do nothing`
}

export interface EdgeFilter {
  readonly orgId: string
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly since?: Date | undefined
}

/** By parent, child and way, at most `limit`. */
export async function listEdges(sql: Queryable, filter: EdgeFilter, limit: number) {
  return sql<EdgeRow[]>`
    select parent, child, via, count(*) as trace_count, max(seen_at) as last_seen_at
    from agent_edges
    where org_id = ${filter.orgId}
      ${inProjects(sql, sql`project_id`, filter.projectIds)}
      ${filter.since ? sql`and seen_at >= ${filter.since}` : sql``}
    group by parent, child, via order by parent, child, via limit ${limit}`
}
