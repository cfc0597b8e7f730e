import type { Queryable } from '../core/db.ts'
import { countUpTo } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import { matchesText } from './trace-search.ts'
import { ofManifest, shownColumns, withVerdict } from './traces.ts'
import type { ShownTraceRow } from './traces.ts'

export interface TraceFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agent_name?: string | undefined
  readonly manifest_id?: string | undefined
  readonly manifest_hash?: string | undefined
  readonly session_id?: string | undefined
  readonly task_id?: string | undefined
  readonly parent_trace_id?: string | undefined
  readonly status?: string | undefined
  readonly source_type?: string | undefined
  readonly environment?: string | undefined
  readonly user_id?: string | undefined
  readonly verdict?: string | undefined
  readonly eval_verdict?: string | undefined
  /** A trace must have all of them. */
  readonly tags?: readonly string[] | undefined
  /** A tool that was called. */
  readonly tool?: string | undefined
  /** Bounds of the quality, both included. */
  readonly min_score?: number | undefined
  readonly max_score?: number | undefined
  /** Started at or after. */
  readonly since?: Date | undefined
  /** Started before. */
  readonly until?: Date | undefined
  /** Words of the input, the output or the error. */
  readonly q?: string | undefined
}

/** Where a page begins: after the trace with this key. */
export interface TraceCursor {
  readonly started_at: Date
  readonly trace_id: string
  readonly project_id: string
}

/** Newest first, by start, id and project. */
export async function listTraces(
  sql: Queryable,
  orgId: string,
  filter: TraceFilter,
  page: {
    readonly limit: number
    readonly offset: number
    readonly after?: TraceCursor | undefined
  },
) {
  const { limit, offset, after } = page
  // Read project by project, so that each read follows the index of the newest traces.
  return sql<ShownTraceRow[]>`
    with found as (
      select n.org_id, n.project_id, n.period, n.trace_id
      from projects p cross join lateral (
        select t.org_id, t.project_id, t.period, t.trace_id, t.started_at
        from traces t ${withVerdict(sql)}
        where ${matching(sql, orgId, filter)}
          ${after ? isAfter(sql, after) : sql``}
        order by t.started_at desc, t.trace_id desc limit ${limit + offset}
      ) n
      where ${visible(sql, orgId, filter)}
      order by n.started_at desc, n.trace_id desc, n.project_id desc
      limit ${limit} offset ${offset}
    )
    select ${shownColumns(sql)}
    from found
    join traces t using (org_id, project_id, period, trace_id)
    join projects p on p.org_id = t.org_id and p.id = t.project_id
    ${withVerdict(sql)}
    order by t.started_at desc, t.trace_id desc, t.project_id desc`
}

/** The projects with traces of a manifest, at most two. @param projectIds null for all projects */
export async function listManifestProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  manifestId: string,
) {
  const rows = await sql<{ project_id: string }[]>`
    select p.id as project_id from projects p
    where p.org_id = ${orgId}
      ${inProjects(sql, sql`p.id`, projectIds)}
      and exists (select 1 from traces t where t.org_id = p.org_id and t.project_id = p.id
        and ${ofManifest(sql, orgId, manifestId)})
    order by p.created_at, p.id limit 2`
  return rows.map(({ project_id }) => project_id)
}

/** How many traces match, counted no further than `limit`. */
export async function countTraces(
  sql: Queryable,
  orgId: string,
  filter: TraceFilter,
  limit: number,
) {
  return countUpTo(
    sql,
    limit,
    sql`projects p
      join traces t on t.org_id = p.org_id and t.project_id = p.id
      ${withVerdict(sql)}
      where ${visible(sql, orgId, filter)} and ${matching(sql, orgId, filter)}`,
  )
}

export interface TraceCount {
  facet: 'status' | 'source_type' | 'verdict' | 'day'
  word: string
  n: number
}

/** Counts by status, source type, verdict ('' for none) and day in UTC. */
export async function countTracesByFacet(
  sql: Queryable,
  orgId: string,
  filter: Pick<TraceFilter, 'projectIds' | 'agent_name' | 'since'>,
) {
  return sql<TraceCount[]>`
    with found as (
      select t.status, t.source_type, coalesce(v.verdict, '') as verdict,
        (t.started_at at time zone 'UTC')::date::text as day
      from projects p
      join traces t on t.org_id = p.org_id and t.project_id = p.id
      ${withVerdict(sql)}
      where ${visible(sql, orgId, filter)} and ${matching(sql, orgId, filter)}
    )
    select
      case when grouping(status) = 0 then 'status' when grouping(source_type) = 0 then 'source_type'
        when grouping(verdict) = 0 then 'verdict' else 'day' end as facet,
      coalesce(status, source_type, verdict, day) as word, count(*)::int as n
    from found group by grouping sets ((status), (source_type), (verdict), (day))
    order by facet, word desc limit ${MAX_FACET_ROWS}`
}

function visible(sql: Queryable, orgId: string, { projectIds }: Pick<TraceFilter, 'projectIds'>) {
  return sql`p.org_id = ${orgId}
    ${inProjects(sql, sql`p.id`, projectIds)}`
}

/** The condition on trace `t` of project `p` with verdict `v`. */
function matching(sql: Queryable, orgId: string, filter: TraceFilter) {
  const { manifest_id, tags, tool, min_score, max_score, since, until, q } = filter
  return sql`t.org_id = p.org_id and t.project_id = p.id
    ${EQUAL.map((column) =>
      filter[column] === undefined ? sql`` : sql`and ${sql(`t.${column}`)} = ${filter[column]}`,
    )}
    ${manifest_id === undefined ? sql`` : sql`and ${ofManifest(sql, orgId, manifest_id)}`}
    ${filter.verdict === undefined ? sql`` : sql`and v.verdict = ${filter.verdict}`}
    ${filter.eval_verdict === undefined ? sql`` : sql`and v.eval_verdict = ${filter.eval_verdict}`}
    ${tags?.length ? sql`and t.tags @> ${tags}::text[]` : sql``}
    ${tool === undefined ? sql`` : sql`and t.tools_called @> ${[tool]}::text[]`}
    ${min_score === undefined ? sql`` : sql`and v.quality_avg >= ${min_score}`}
    ${max_score === undefined ? sql`` : sql`and v.quality_avg <= ${max_score}`}
    ${since ? sql`and t.started_at >= ${since}` : sql``}
    ${until ? sql`and t.started_at < ${until}` : sql``}
    ${q === undefined ? sql`` : sql`and ${matchesText(sql, q)}`}`
}

function isAfter(sql: Queryable, { started_at, trace_id, project_id }: TraceCursor) {
  return sql`and t.started_at <= ${started_at}
    and (t.started_at, t.trace_id, t.project_id) < (${started_at}, ${trace_id}, ${project_id})`
}

const EQUAL = [
  'agent_name',
  'manifest_hash',
  'session_id',
  'task_id',
  'parent_trace_id',
  'status',
  'source_type',
  'environment',
  'user_id',
] as const
/** Rows of all facets together; most of them are days. */
const MAX_FACET_ROWS = 10_000
