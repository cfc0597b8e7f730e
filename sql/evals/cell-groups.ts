import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import type { CellSums } from '../../jobs/rules/evals/score-summary.ts'
import type { Queryable } from '../core/db.ts'
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

/** Sums of the matching cells for each combination of `groupBy`, at most `limit`, in order of the key. */
export async function listCellGroups(
  sql: Queryable,
  orgId: string,
  filter: CellFilter,
  groupBy: readonly (keyof typeof GROUPS)[],
  limit: number,
) {
  const columns = groupBy.flatMap((word) => GROUPS[word])
  const key = columns.map((column, i) => sql`${i ? sql`,` : sql``} ${sql(column)}`)
  const shown = columns.map((column) =>
    column === 'day' ? sql`day::text as day,` : sql`${sql(column)},`,
  )
  const histogram = Array.from(
    { length: HISTOGRAM_BINS },
    (_, bin) => sql`${bin ? sql`,` : sql``} sum(histogram[${bin + 1}::int])`,
  )
  return sql<CellGroup[]>`
    select ${shown.length > 0 ? shown : sql``} sum(n)::bigint as n, sum(passed)::bigint as passed, sum(sum) as sum,
      sum(sum_squares) as sum_squares, min(min) as min, max(max) as max,
      array[${histogram}]::float8[] as histogram, sum(clusters)::bigint as clusters,
      sum(cluster_ss) as cluster_ss, sum(cluster_sn) as cluster_sn, sum(cluster_nn) as cluster_nn,
      max(computed_at) as computed_at
    from score_cells where ${matching(sql, orgId, filter)}
    ${columns.length > 0 ? sql`group by ${key} order by ${key}` : sql`having sum(n) > 0`}
    limit ${limit}`
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
    ${equal('agent_name', filter.agentName)} ${equal('manifest_id', filter.manifestId)}
    ${equal('manifest_hash', filter.manifestHash)} ${equal('name', filter.name)}
    ${equal('source', filter.source)} ${equal('verdict', filter.verdict)}
    ${since ? sql`and day >= (${since}::timestamptz at time zone 'UTC')::date` : sql``}
    ${until ? sql`and day <= (${until}::timestamptz at time zone 'UTC')::date` : sql``}`
}

/** What a list can be grouped by, and the columns that stand for it. */
export const GROUPS = {
  manifest: ['manifest_id', 'manifest_hash'],
  day: ['day'],
  name: ['name'],
  source: ['source'],
  verdict: ['verdict'],
} as const satisfies Record<string, readonly string[]>

type GroupColumn = (typeof GROUPS)[keyof typeof GROUPS][number]
