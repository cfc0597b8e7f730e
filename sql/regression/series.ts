import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { QUALITY_METRIC } from './activations.ts'

/** One version of a series, for display. Means are over sessions; null without any. */
export interface SeriesVersion {
  manifest_id: string
  version_label: string
  /** RFC 3339. */
  activated_at: string
  n: number
  mean: number | null
  ci95_low: number | null
  ci95_high: number | null
  pass_rate: number | null
  /** Absent in a series of an earlier release. */
  mde?: number | null
}

export interface SeriesRow {
  ordinal: number
  looks: number
  versions: SeriesVersion[]
  computed_at: Date | null
}

export async function findSeries(sql: Queryable, agent: AgentKey, metric: string) {
  const [row] = await sql<SeriesRow[]>`
    select ordinal, looks, versions, computed_at from regression_series
    where ${isSeries(sql, agent, metric)}`
  return row
}

/** Bisections of one metric go one at a time: holds until the transaction ends. */
export async function lockSeries(tx: Transaction, agent: AgentKey, metric: string) {
  await tx`
    insert into regression_series (org_id, project_id, agent_name, metric)
    values (${agent.orgId}, ${agent.projectId}, ${agent.agentName}, ${metric})
    on conflict do nothing`
  await tx`
    select from regression_series where ${isSeries(tx, agent, metric)} for no key update`
}

export async function updateSeries(
  tx: Transaction,
  agent: AgentKey,
  metric: string,
  series: SeriesRow,
) {
  await tx`
    update regression_series set ordinal = ${series.ordinal}, looks = ${series.looks},
      versions = ${jsonText(series.versions)}::text::jsonb, computed_at = ${series.computed_at}
    where ${isSeries(tx, agent, metric)}`
}

/** A metric whose newest version is still to be looked at. */
export interface OpenSeries {
  org_id: string
  project_id: string
  agent_name: string
  metric: string
  manifest_id: string
  /** From when on the traces of the version are looked at. */
  begins: Date
  /** How many looks at the version were done; null when it was activated since the last one. */
  looks: number | null
  /** When it was bisected last; null when it never was. */
  computed_at: Date | null
}

/**
 * The quality of every agent with versions, and each metric that somebody asked about, in all
 * organizations, those bisected longest ago first; for the sweep only. Not those whose newest version has
 * had this many `looks`.
 * @param window.since no earlier traces are looked at
 * @param page.after the last one of the page before; none for the first page
 */
export async function listOpenSeries(
  sql: Queryable,
  { since, looks }: { since: Date; looks: number },
  { after, limit }: { after: OpenSeries | undefined; limit: number },
) {
  // Bisected longest ago are those that never were.
  const unseen = sql`
      union all
      select distinct org_id, project_id, agent_name, ${QUALITY_METRIC}, null::int, null::int,
        null::timestamptz
      from manifest_activations a where not exists (
        select from regression_series s
        where ${isSameAgent(sql, sql`s`, sql`a`)} and s.metric = ${QUALITY_METRIC})`
  const place = sql`coalesce(w.computed_at, '-infinity'), w.org_id, w.project_id, w.agent_name, w.metric`
  return sql<OpenSeries[]>`
    with wanted as (
      select org_id, project_id, agent_name, metric, ordinal, looks, computed_at from regression_series
      ${after?.computed_at ? sql`` : unseen}
    )
    select w.org_id, w.project_id, w.agent_name, w.metric, n.manifest_id, n.begins,
      case when w.ordinal = n.ordinal then w.looks end as looks, w.computed_at
    from wanted w cross join lateral (
      -- To the first activation of a manifest belong its earlier traces too.
      select ordinal, manifest_id,
        case when kind <> 'reactivated' then ${since} else greatest(activated_at, ${since}) end as begins
      from manifest_activations a where ${isSameAgent(sql, sql`a`, sql`w`)}
      order by ordinal desc limit 1) n
    where (w.ordinal is distinct from n.ordinal or w.looks < ${looks})
      ${after ? sql`and (${place}) > (${placeOf(sql, after)})` : sql``}
    order by ${place} limit ${limit}`
}

function placeOf(
  sql: Queryable,
  { computed_at, org_id, project_id, agent_name, metric }: OpenSeries,
) {
  return sql`coalesce(${computed_at}, '-infinity'::timestamptz), ${org_id}, ${project_id}, ${agent_name},
    ${metric}`
}

function isSameAgent(sql: Queryable, one: Fragment, other: Fragment) {
  return sql`${one}.org_id = ${other}.org_id and ${one}.project_id = ${other}.project_id
    and ${one}.agent_name = ${other}.agent_name`
}

function isSeries(sql: Queryable, agent: AgentKey, metric: string) {
  return sql`${ofAgent(sql, agent)} and metric = ${metric}`
}
