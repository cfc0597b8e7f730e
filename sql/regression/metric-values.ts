import type { Fragment, Queryable } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { isSameTrace, ofManifest } from '../traces/traces.ts'
import { QUALITY_METRIC } from './activations.ts'

/** The value of one metric of one trace. */
export interface MetricValueRow {
  metric: string
  trace_id: string
  session_id: string | null
  task_id: string | null
  value: number
  /** The trace that this one replays; null when it is no replay. */
  source_trace_id: string | null
}

/**
 * Quality and scores of the newest `MAX_TRACES` traces of a manifest, enough for every statistic. A
 * score that several sources gave is their mean.
 */
export async function listMetricValues(
  sql: Queryable,
  agent: AgentKey,
  manifestId: string,
  [from, to]: readonly [Date, Date],
) {
  return listValues(
    sql,
    sql`
      select t.* from traces t
      where ${ofAgent(sql, agent)} and ${ofManifest(sql, agent.orgId, manifestId)}
        and started_at >= ${from} and started_at < ${to} and status <> 'running'
      order by started_at desc, trace_id desc limit ${MAX_TRACES}`,
  )
}

/** As `listMetricValues`, of those of the traces that are of the manifest, however old they are. */
export async function listMetricValuesOf(
  sql: Queryable,
  { orgId, projectId, agentName }: AgentKey,
  manifestId: string,
  traceIds: readonly string[],
) {
  return listValues(
    sql,
    sql`
      select t.* from trace_ids k join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
      where k.org_id = ${orgId} and k.project_id = ${projectId} and k.trace_id = any(${traceIds}::text[])
        and t.agent_name = ${agentName} and ${ofManifest(sql, orgId, manifestId)}
        and t.status <> 'running'`,
  )
}

async function listValues(sql: Queryable, traces: Fragment) {
  return sql<MetricValueRow[]>`
    with chosen as (
      select org_id, project_id, period, trace_id, session_id, task_id,
        ${sourceTraceId(sql, sql`t`)} as source_trace_id
      from (${traces}) t
    )
    select ${QUALITY_METRIC} as metric, t.trace_id, t.session_id, t.task_id, v.quality_avg as value,
      t.source_trace_id
    from chosen t join verdicts v using (org_id, project_id, period, trace_id)
    where v.quality_avg is not null
    union all
    select s.name, t.trace_id, t.session_id, t.task_id, avg(s.value), t.source_trace_id
    from chosen t join eval_scores s using (org_id, project_id, period, trace_id)
    where s.category = 'quality' and s.value is not null and s.span_id = ''
    group by s.name, t.trace_id, t.session_id, t.task_id, t.source_trace_id
    order by 1, 2`
}

const MAX_TRACES = 20_000
