import type { AgentEdge } from '../../jobs/rules/traces/agent-edges.ts'
import type { Queryable, Sql, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { counted } from './trace-counts.ts'
import type { CountFilter } from './trace-counts.ts'
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

/**
 * Edges from these traces to their parent traces, and to them from their child traces. It locks both ends, in
 * the order in which all lock traces: who renames one at that moment finds the edge, or is waited for. Not to
 * be called in a transaction, which may hold other traces.
 */
export async function insertParentEdges(
  sql: Sql,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  await sql`
    with related as (
      select trace_id, parent_trace_id from traces
      where ${ofTraces(sql, orgId, projectId, traceIds)} and parent_trace_id is not null
      union
      select trace_id, parent_trace_id from traces
      where org_id = ${orgId} and project_id = ${projectId}
        and parent_trace_id = any(${traceIds}::text[])
    ), held as (
      select t.trace_id, t.parent_trace_id, t.agent_name, t.started_at
      from (select trace_id from related union select parent_trace_id from related) r
      join trace_ids k on k.org_id = ${orgId} and k.project_id = ${projectId}
        and k.trace_id = r.trace_id
      join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
      order by t.trace_id for share of t
    )
    insert into agent_edges (org_id, project_id, trace_id, parent, child, via, seen_at)
    select ${orgId}, ${projectId}, c.trace_id, p.agent_name, c.agent_name, 'parent_trace', c.started_at
    from held c join held p on p.trace_id = c.parent_trace_id
    where p.agent_name <> c.agent_name
    order by c.trace_id
    on conflict do nothing`
}

/**
 * By parent, child and way, at most `limit`. Seen last is the last time of the day on which it was, also
 * where the trace of that time is gone and others of the day are left.
 */
export async function listEdges(
  sql: Queryable,
  filter: Omit<CountFilter, 'agentName'>,
  limit: number,
) {
  return sql<EdgeRow[]>`
    select parent, child, via, sum(n)::int8 as trace_count, max(last_seen_at) as last_seen_at
    from (
      select parent, child, via, day, sum(n) as n, max(last_seen_at) as last_seen_at
      from all_edge_counts where ${counted(sql, filter)}
      group by project_id, parent, child, via, day having sum(n) > 0
    ) as days
    group by parent, child, via order by parent, child, via limit ${limit}`
}
