import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import type { CellSums } from '../../jobs/rules/evals/score-summary.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

export interface CellFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  readonly manifestId?: string | undefined
  readonly manifestHash?: string | undefined
  readonly name?: string | undefined
  readonly source?: string | undefined
  readonly verdict?: string | undefined
  /** First and last day, whole days in UTC. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

export type CellGroup = CellSums & { computed_at: Date } & Partial<Record<GroupColumn, string>>

/**
 * Sums of the matching cells for each combination of `groupBy`, at most `limit`, in order of the key.
 * `clusters` is 0 where a group has more than lone traces and there are too many to read them.
 */
export async function listCellGroups(
  sql: Queryable,
  orgId: string,
  filter: CellFilter,
  groupBy: readonly (keyof typeof GROUPS)[],
  limit: number,
) {
  const columns = groupBy.flatMap((word) => GROUPS[word])
  // A column that is the same everywhere keys the group that nothing is grouped by.
  const key = [sql`one`, ...columns.map((column) => sql`, ${sql(column)}`)]
  const shown = columns.map((column) =>
    column === 'day' ? sql`day::text as day,` : sql`${sql(column)},`,
  )
  return sql<CellGroup[]>`
    with cells as (select *, 1 as one from score_cells where ${matching(sql, orgId, filter)}),
    sums as (
      select ${key}, row_number() over (order by ${key}) as place, ${sumsOfCells(sql)}
      from cells group by ${key} order by place limit ${limit}
    ),
    ${clustersOfGroups(sql, orgId, key)}
    select ${shown.length > 0 ? shown : sql``} n, passed, sum, sum_squares, min, max, histogram, names,
      case when shared_clusters > 0 and clusters is null then 0
        else lone_clusters + coalesce(clusters, 0) end as clusters, lone_ss + coalesce(ss, 0) as cluster_ss,
      lone_sn + coalesce(sn, 0) as cluster_sn, lone_nn + coalesce(nn, 0) as cluster_nn, computed_at
    from sums left join shared using (place) order by place`
}

function sumsOfCells(sql: Queryable) {
  const histogram = Array.from(
    { length: HISTOGRAM_BINS },
    (_, bin) => sql`${bin ? sql`,` : sql``} sum(histogram[${bin + 1}::int])`,
  )
  return sql`sum(n)::bigint as n, sum(passed)::bigint as passed, sum(sum) as sum,
    sum(sum_squares) as sum_squares, min(min) as min, max(max) as max,
    array[${histogram}]::float8[] as histogram, count(distinct name) as names,
    sum(shared_clusters)::bigint as shared_clusters, sum(lone_clusters)::bigint as lone_clusters, sum(lone_ss) as lone_ss, sum(lone_sn) as lone_sn,
    sum(lone_nn) as lone_nn, max(computed_at) as computed_at`
}

/**
 * What is no lone trace, as `shared`: tasks, else sessions, else traces. Where all of a group is of one
 * task, that is no cluster but what is measured. A cluster is united over the cells of its group before
 * it is squared. Groups of several names have no interval, and so need no clusters; nor are any read
 * where there are too many.
 */
function clustersOfGroups(sql: Queryable, orgId: string, key: Fragment[]) {
  return sql`
    units as (
      select place, task, unit, sum(c.n) as n, sum(c.sum) as s, min(sums.lone_clusters) as lone
      from sums join cells using (${key})
        join score_cell_clusters c on c.org_id = ${orgId} and c.cell_id = cells.id
      where names = 1
        and (select sum(shared_clusters) from sums where names = 1) <= ${MAX_CLUSTERS}::int
      group by place, task, unit
    ), told as (
      select place, task, unit, n, s,
        lone = 0 and min(task) over same = max(task) over same as one_task
      from units window same as (partition by place)
    ), clusters as (
      select place, sum(n) as n, sum(s) as s from told
      group by place, case when one_task or task = 0 then unit else task end
    ), shared as (
      select place, count(*) as clusters, sum(s * s) as ss, sum(s * n) as sn, sum(n * n) as nn
      from clusters group by place
    )`
}

/** Whether scores have changed since the cells were computed. */
export async function areCellsDirty(
  sql: Queryable,
  orgId: string,
  { projectIds, agentName }: CellFilter,
) {
  const [row] = await sql<{ dirty: boolean }[]>`
    select exists (
      select 1 from score_cells_dirty where org_id = ${orgId}
        ${inProjects(sql, sql`project_id`, projectIds)}
        ${agentName === undefined ? sql`` : sql`and agent_name = ${agentName}`}
    ) as dirty`
  return row?.dirty ?? false
}

function matching(sql: Queryable, orgId: string, filter: CellFilter) {
  const { projectIds, since, until } = filter
  const equal = (column: string, value: string | undefined) =>
    value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`
  return sql`org_id = ${orgId}
    ${inProjects(sql, sql`project_id`, projectIds)}
    ${equal('agent_name', filter.agentName)} ${filter.manifestId === undefined ? sql`` : sql`and ${ofManifest(sql, orgId, filter.manifestId)}`}
    ${equal('manifest_hash', filter.manifestHash)} ${equal('name', filter.name)}
    ${equal('source', filter.source)} ${equal('verdict', filter.verdict)}
    ${since ? sql`and day >= (${since}::timestamptz at time zone 'UTC')::date` : sql``}
    ${until ? sql`and day <= (${until}::timestamptz at time zone 'UTC')::date` : sql``}`
}

/** The cells of a manifest's traces, and of those that name its hash and are not tied yet. */
function ofManifest(sql: Queryable, orgId: string, manifestId: string) {
  return sql`(manifest_id = ${manifestId} or manifest_id = ''
    and (project_id, agent_name, manifest_hash) = (
      select m.project_id, m.agent_name, substr(m.manifest_hash, 8) from manifests m
      where m.org_id = ${orgId} and m.id = ${manifestId}))`
}

/** Rows of clusters that one answer reads; 40,000 take 60 to 100 ms. */
export const MAX_CLUSTERS = 40_000

/** What a list can be grouped by, and the columns that stand for it. */
export const GROUPS = {
  manifest: ['manifest_id', 'manifest_hash'],
  day: ['day'],
  name: ['name'],
  source: ['source'],
  verdict: ['verdict'],
} as const satisfies Record<string, readonly string[]>

type GroupColumn = (typeof GROUPS)[keyof typeof GROUPS][number]
