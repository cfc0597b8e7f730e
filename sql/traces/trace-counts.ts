import type { Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

/**
 * How many traces there are. Triggers count every change, so these numbers are exact at any time, and
 * reading them takes as long for a million traces as for a few: by agents and days, not by traces.
 */

export interface CountFilter {
  readonly orgId: string
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  /** Counts the traces that started on its day in UTC or later. */
  readonly since?: Date | undefined
}

export interface FacetCount {
  facet: 'status' | 'source_type' | 'verdict' | 'reason' | 'day'
  word: string
  n: number
}

/**
 * Counts by status, source type, verdict, reason that decided, and day in UTC, newest day first. Traces
 * without a verdict are in those by verdict and by reason left out. At most `MAX_FACET_ROWS`.
 */
export async function countTracesByFacet(sql: Queryable, filter: CountFilter) {
  return sql<FacetCount[]>`
    select facet, word, n from (
      select case when grouping(status) = 0 then 'status' when grouping(source_type) = 0 then 'source_type'
          else 'day' end as facet,
        coalesce(status, source_type, day::text) as word, sum(n)::int8 as n
      from all_trace_counts where ${counted(sql, filter)}
      group by grouping sets ((status), (source_type), (day))
      union all
      select case when grouping(verdict) = 0 then 'verdict' else 'reason' end,
        coalesce(verdict, reason_code), sum(n)::int8
      from all_verdict_counts where ${counted(sql, filter)}
      group by grouping sets ((verdict), (reason_code))
    ) as facets
    where n <> 0 and word <> ''
    order by facet = 'day', facet, word desc limit ${MAX_FACET_ROWS}`
}

/** How many there are. */
export async function countStoredTraces(sql: Queryable, filter: CountFilter) {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(sum(n), 0)::int8 as n from all_trace_counts where ${counted(sql, filter)}`
  return row?.n ?? 0
}

/** Traces by agent, of the agents that have any, by name; at most `limit`. */
export async function countTracesByAgent(sql: Queryable, filter: CountFilter, limit: number) {
  return sql<{ agent_name: string; trace_count: number }[]>`
    select agent_name, sum(n)::int8 as trace_count
    from all_trace_counts where ${counted(sql, filter)}
    group by agent_name having sum(n) > 0 order by agent_name limit ${limit}`
}

/** The condition that a row counts traces of the filter. */
export function counted(sql: Queryable, { orgId, projectIds, agentName, since }: CountFilter) {
  return sql`org_id = ${orgId}
    ${inProjects(sql, sql`project_id`, projectIds)}
    ${agentName === undefined ? sql`` : sql`and agent_name = ${agentName}`}
    ${since ? sql`and day >= (${since}::timestamptz at time zone 'UTC')::date` : sql``}`
}

/** The condition that a row `t` counts traces of a manifest, as `ofManifest` tells them. */
export function countsManifest(sql: Queryable, orgId: string, manifestId: string) {
  return sql`(t.agent_name, t.project_id) = (
      select m.agent_name, m.project_id from manifests m
      where m.org_id = ${orgId} and m.id = ${manifestId})
    and (t.manifest_id = ${manifestId}::uuid::text or t.manifest_hash = (
      select substr(m.manifest_hash, 8) from manifests m
      where m.org_id = ${orgId} and m.id = ${manifestId}))`
}

/** Most of them are days, which come last. */
const MAX_FACET_ROWS = 10_000
