import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
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

/** By last activity, newest first. */
export async function listAgents(
  sql: Queryable,
  filter: AgentFilter,
  limit: number,
  offset: number,
) {
  return sql<AgentRow[]>`
    with recursive ${knownAgents(sql, filter)}, page as (
      select k.project_id, k.agent_name, k.is_fixture, t.last_trace_at
      from known k
      left join lateral (
        select started_at as last_trace_at from traces t
        where t.org_id = ${filter.orgId} and t.project_id = k.project_id
          and t.agent_name = k.agent_name
        order by started_at desc limit 1) t on true
      where ${filter.includeFixtures}::boolean or not k.is_fixture
      order by t.last_trace_at desc nulls last, k.agent_name, k.project_id
      limit ${limit} offset ${offset}
    )
    select ${detailColumns(sql)} from page a ${details(sql, filter.orgId)}
    order by a.last_trace_at desc nulls last, a.agent_name, a.project_id`
}

export async function countAgents(sql: Queryable, filter: AgentFilter) {
  const [row] = await sql<{ n: number }[]>`
    with recursive ${knownAgents(sql, filter)}
    select count(*) as n from known k where ${filter.includeFixtures}::boolean or not k.is_fixture`
  return row?.n ?? 0
}

/** Reads an agent that exists. */
export async function readAgent(sql: Queryable, { orgId, projectId, agentName }: AgentKey) {
  const rows = await sql<AgentRow[]>`
    with page as (
      select ${projectId}::uuid as project_id, ${agentName}::text as agent_name,
        ${isFixture(sql, orgId, sql`${projectId}`, sql`${agentName}`)} as is_fixture,
        (select max(started_at) from traces t
          where t.org_id = ${orgId} and t.project_id = ${projectId}
            and t.agent_name = ${agentName}) as last_trace_at
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

/** Counts of an agent's traces by verdict. */
export async function countAgentVerdicts(
  sql: Queryable,
  { orgId, projectId, agentName }: AgentKey,
) {
  const rows = await sql<{ verdict: Verdict; n: number }[]>`
    select v.verdict, count(*) as n
    from traces t join verdicts v using (org_id, project_id, period, trace_id)
    where t.org_id = ${orgId} and t.project_id = ${projectId} and t.agent_name = ${agentName}
    group by v.verdict`
  return Object.fromEntries(rows.map(({ verdict, n }) => [verdict, n]))
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

/** Traces by agent, of the agents that have any. */
export async function countTracesByAgent(
  sql: Queryable,
  filter: Pick<AgentFilter, 'orgId' | 'projectIds'> & { since?: Date | undefined },
  limit: number,
) {
  const { orgId, projectIds, since } = filter
  return sql<{ agent_name: string; trace_count: number }[]>`
    select agent_name, count(*) as trace_count from traces
    where org_id = ${orgId}
      ${inProjects(sql, sql`project_id`, projectIds)}
      ${since ? sql`and started_at >= ${since}` : sql``}
    group by agent_name order by agent_name limit ${limit}`
}

/** `known`: every agent. A recursive query skips through the index from one name to the next. */
function knownAgents(sql: Queryable, { orgId, projectIds }: AgentFilter) {
  const visible = inProjects(sql, sql`project_id`, projectIds)
  return sql`traced as (
      (select project_id, agent_name from traces where org_id = ${orgId} ${visible}
        order by project_id, agent_name limit 1)
      union all
      select next.project_id, next.agent_name
      from traced, lateral (
        select project_id, agent_name from traces
        where org_id = ${orgId} ${visible}
          and (project_id, agent_name) > (traced.project_id, traced.agent_name)
        order by project_id, agent_name limit 1) next
    ), names as (
      select project_id, agent_name from traced
      union select project_id, agent_name from manifests where org_id = ${orgId} ${visible}
      union select project_id, child from agent_edges where org_id = ${orgId} ${visible}
    ), known as (
      select n.project_id, n.agent_name,
        ${isFixture(sql, orgId, sql`n.project_id`, sql`n.agent_name`)} as is_fixture
      from names n
    )`
}

function details(sql: Queryable, orgId: string) {
  return sql`
    left join lateral (
      select count(*) as trace_count, count(*) filter (where v.trace_id is null) as unevaluated_count
      from traces t left join verdicts v using (org_id, project_id, period, trace_id)
      where t.org_id = ${orgId} and t.project_id = a.project_id and t.agent_name = a.agent_name
    ) counted on true
    left join lateral (
      select count(*) over () as versions, jsonb_build_object('manifest_id', m.id,
        'version_label', 'v' || m.version_number, 'manifest_hash', m.shown_hash,
        'status', m.status, 'created_at', m.created_at) as latest
      from manifests m
      where m.org_id = ${orgId} and m.project_id = a.project_id and m.agent_name = a.agent_name
      order by m.version_number desc limit 1) m on true
    left join lateral (
      select exists (select 1 from agent_edges e
          where e.org_id = ${orgId} and e.project_id = a.project_id and e.child = a.agent_name)
        or exists (select 1 from manifest_components c
          join manifests o on o.org_id = c.org_id and o.id = c.manifest_id
          where c.org_id = ${orgId} and c.component_type = 'subagent'
            and c.component_name = a.agent_name and o.project_id = a.project_id
            and o.status = 'active') as is_subagent) s on true`
}

function detailColumns(sql: Queryable) {
  return sql`a.project_id, a.agent_name, a.last_trace_at, a.is_fixture, counted.trace_count,
    counted.unevaluated_count, s.is_subagent, coalesce(m.versions, 0) as manifest_versions,
    m.latest as latest_manifest`
}
