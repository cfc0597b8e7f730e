import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { isSameTrace, ofManifest } from '../traces/traces.ts'
import { OBSERVED, QUALITY_METRIC } from './activations.ts'

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

/** A metric whose newest version has reached a look that was not done yet. */
export interface DueSeries {
  org_id: string
  project_id: string
  agent_name: string
  metric: string
}

/**
 * Series to bisect anew: a version was activated since, or the newest one has reached a further look.
 * Covers the quality of every agent with versions, and each metric that somebody asked about, in all
 * organizations; for the sweep only.
 * @param looks ascending numbers of traces
 */
export async function listDueSeries(sql: Queryable, looks: readonly number[], limit: number) {
  return sql<DueSeries[]>`
    with newest as (
      -- To the first activation of a manifest belong its earlier traces too.
      select distinct on (org_id, project_id, agent_name)
        org_id, project_id, agent_name, ordinal, manifest_id,
        case when kind <> 'reactivated' then '-infinity' else activated_at end as begins
      from manifest_activations
      order by org_id, project_id, agent_name, ordinal desc
    ), wanted as (
      select org_id, project_id, agent_name, metric from regression_series
      union select org_id, project_id, agent_name, ${QUALITY_METRIC} from newest
    )
    select w.org_id, w.project_id, w.agent_name, w.metric
    from wanted w join newest n using (org_id, project_id, agent_name)
    left join regression_series s using (org_id, project_id, agent_name, metric)
    cross join lateral (
      select count(*) as n from (
        select from traces t
        where t.org_id = n.org_id and t.project_id = n.project_id and t.agent_name = n.agent_name
          and ${ofManifest(sql, sql`n.org_id`, sql`n.manifest_id`)} and t.started_at >= n.begins
          and t.source_type = any(${OBSERVED}::text[])
          and case when w.metric = ${QUALITY_METRIC} then exists (
              select from verdicts v where ${isSameTrace(sql, sql`v`, sql`t`)} and v.quality_avg is not null)
            else exists (
              select from eval_scores e where ${isSameTrace(sql, sql`e`, sql`t`)} and e.name = w.metric and e.span_id = ''
                and e.value is not null) end
        limit ${Math.max(...looks)}) counted) measured
    where n.ordinal <> coalesce(s.ordinal, 0) or coalesce(s.looks, 0) < (
      select count(*) from unnest(${looks}::int[]) look where look <= measured.n)
    order by s.computed_at nulls first, w.org_id, w.project_id, w.agent_name, w.metric
    limit ${limit}`
}

function isSeries(sql: Queryable, agent: AgentKey, metric: string) {
  return sql`${ofAgent(sql, agent)} and metric = ${metric}`
}
