import { onlyRow } from '../core/db.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import type { AgentKey, ManifestStatus } from './manifests.ts'

export interface AgentRow {
  project_id: string
  agent_name: string
  /** Null for an agent without traces. */
  last_trace_at: Date | null
  trace_count: number
  /** Traces without a decision. */
  unevaluated_count: number
  is_subagent: boolean
  is_fixture: boolean
  manifest_versions: number
  /** The newest version; null for an agent that was never registered. */
  latest_manifest: LatestManifest | null
}

export interface LatestManifest {
  manifest_id: string
  version_label: string
  manifest_hash: string
  status: ManifestStatus
  created_at: string
}

export interface AgentFilter {
  readonly orgId: string
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  /** Agents whose manifests or traces say `metadata.fixture: true`. */
  readonly includeFixtures: boolean
}

/** A page of the agents by last activity, newest first, and how many there are on all pages. */
export async function listAgents(
  sql: Queryable,
  filter: AgentFilter,
  limit: number,
  offset: number,
): Promise<{ agents: AgentRow[]; total: number }> {
  const rows = await sql<(AgentRow & { total: number })[]>`
    with recursive ${knownAgents(sql, filter)}, page as (
      select project_id, agent_name, is_fixture, last_trace_at from known
      order by last_trace_at desc nulls last, agent_name, project_id
      limit ${limit} offset ${offset}
    )
    select * from (select count(*) as total from known) as all_pages
    left join (select ${detailColumns(sql)} from page a ${details(sql, filter.orgId)}) as listed on true
    order by last_trace_at desc nulls last, agent_name, project_id`
  // A page behind the last agent is one row of nulls.
  const listed = rows.filter(({ agent_name }) => agent_name !== null)
  return { agents: listed.map(({ total: _, ...agent }) => agent), total: rows[0]?.total ?? 0 }
}

/** Reads an agent that exists. */
export async function readAgent(sql: Queryable, { orgId, projectId, agentName }: AgentKey) {
  const rows = await sql<AgentRow[]>`
    with page as (
      select ${projectId}::uuid as project_id, ${agentName}::text as agent_name,
        ${isFixture(sql, orgId, sql`${projectId}`, sql`${agentName}`)} as is_fixture,
        ${lastTraceAt(sql, orgId, sql`${projectId}`, sql`${agentName}`)} as last_trace_at
    )
    select ${detailColumns(sql)} from page a ${details(sql, orgId)}`
  return onlyRow(rows)
}

/** The condition that an agent belongs to a test: a manifest or a trace of it says so. */
export function isFixture(sql: Queryable, orgId: string, projectId: Fragment, agentName: Fragment) {
  return sql`(exists (select 1 from manifests m
      where m.org_id = ${orgId} and m.project_id = ${projectId} and m.agent_name = ${agentName}
        and m.metadata @> '{"fixture": true}')
    or exists (select 1 from traces t
      where t.org_id = ${orgId} and t.project_id = ${projectId} and t.agent_name = ${agentName}
        and t.metadata @> '{"fixture": true}'))`
}

/** The projects in which an agent of this name has traces, manifests, or was given work. */
export async function listAgentProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  agentName: string,
) {
  return sql<{ id: string; name: string }[]>`
    select p.id, p.name from projects p
    where p.org_id = ${orgId}
      ${inProjects(sql, sql`p.id`, projectIds)}
      and (exists (select 1 from traces t
          where t.org_id = p.org_id and t.project_id = p.id and t.agent_name = ${agentName})
        or exists (select 1 from manifests m
          where m.org_id = p.org_id and m.project_id = p.id and m.agent_name = ${agentName})
        or exists (select 1 from agent_edges e
          where e.org_id = p.org_id and e.project_id = p.id and e.child = ${agentName}))
    order by p.created_at, p.id`
}

/**
 * `known`: every agent. Recursive, because it skips through the counts from one name to the next. An agent
 * whose traces are all gone may still be named there, so that only those with a trace are taken.
 */
function knownAgents(sql: Queryable, { orgId, projectIds, includeFixtures }: AgentFilter) {
  const ofOrg = sql`org_id = ${orgId} ${inProjects(sql, sql`project_id`, projectIds)}`
  const agent = [orgId, sql`n.project_id`, sql`n.agent_name`] as const
  return sql`counted as (
      (select project_id, agent_name from trace_counts where ${ofOrg}
        order by project_id, agent_name limit 1)
      union all
      select next.project_id, next.agent_name
      from counted, lateral (
        select project_id, agent_name from trace_counts
        where ${ofOrg} and (project_id, agent_name) > (counted.project_id, counted.agent_name)
        order by project_id, agent_name limit 1) next
    ), without_traces as materialized (
      select project_id, agent_name from manifests where ${ofOrg}
      union
      select project_id, child from all_edge_counts where ${ofOrg}
      group by project_id, parent, child, via, day having sum(n) > 0
    ), names as (
      select project_id, agent_name from counted
      union select project_id, agent_name from trace_count_changes where ${ofOrg}
      union select project_id, agent_name from without_traces
    ), active as materialized (
      select n.project_id, n.agent_name, ${lastTraceAt(sql, ...agent)} as last_trace_at from names n
    ), known as materialized (
      select n.*, f.is_fixture
      from active n cross join lateral (select ${isFixture(sql, ...agent)} as is_fixture) f
      where (n.last_trace_at is not null
          or (n.project_id, n.agent_name) in (select project_id, agent_name from without_traces))
        and (${includeFixtures}::boolean or not f.is_fixture)
    )`
}

/** The start of an agent's newest trace; null without one. */
function lastTraceAt(sql: Queryable, orgId: string, projectId: Fragment, agentName: Fragment) {
  return sql`(select max(t.started_at) from traces t
    where t.org_id = ${orgId} and t.project_id = ${projectId} and t.agent_name = ${agentName})`
}

function details(sql: Queryable, orgId: string) {
  const ofAgent = sql`c.org_id = ${orgId} and c.project_id = a.project_id and c.agent_name = a.agent_name`
  return sql`
    cross join lateral (
      select coalesce(sum(c.n), 0)::int8 as n from all_trace_counts c where ${ofAgent}) traced
    cross join lateral (
      select coalesce(sum(c.n), 0)::int8 as n from all_verdict_counts c where ${ofAgent}) decided
    left join lateral (
      select count(*) over () as versions, jsonb_build_object('manifest_id', m.id,
        'version_label', 'v' || m.version_number, 'manifest_hash', m.shown_hash,
        'status', m.status, 'created_at', m.created_at) as latest
      from manifests m
      where m.org_id = ${orgId} and m.project_id = a.project_id and m.agent_name = a.agent_name
      order by m.version_number desc limit 1) m on true
    cross join lateral (
      select exists (select 1 from agent_edges e
          where e.org_id = ${orgId} and e.project_id = a.project_id and e.child = a.agent_name)
        or exists (select 1 from manifest_components c
          join manifests o on o.org_id = c.org_id and o.id = c.manifest_id
          where c.org_id = ${orgId} and c.component_type = 'subagent'
            and c.component_name = a.agent_name and o.project_id = a.project_id
            and o.status = 'active') as is_subagent) s`
}

function detailColumns(sql: Queryable) {
  return sql`a.project_id, a.agent_name, a.last_trace_at, a.is_fixture, traced.n as trace_count,
    traced.n - decided.n as unevaluated_count, s.is_subagent,
    coalesce(m.versions, 0) as manifest_versions, m.latest as latest_manifest`
}
