import type { Queryable } from '../core/db.ts'
import { ofAgent } from '../manifests/manifests.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { ofManifest } from '../traces/traces.ts'
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
  return sql<MetricValueRow[]>`
    with newest as (
      select org_id, project_id, period, trace_id, session_id, task_id,
        ${sourceTraceId(sql, sql`t`)} as source_trace_id
      from traces t
      where ${ofAgent(sql, agent)} and ${ofManifest(sql, agent.orgId, manifestId)} and status <> 'running'
        and started_at >= ${from} and started_at < ${to}
      order by started_at desc, trace_id desc limit ${MAX_TRACES}
    )
    select ${QUALITY_METRIC} as metric, t.trace_id, t.session_id, t.task_id, v.quality_avg as value,
      t.source_trace_id
    from newest t join verdicts v using (org_id, project_id, period, trace_id)
    where v.quality_avg is not null
    union all
    select s.name, t.trace_id, t.session_id, t.task_id, avg(s.value), t.source_trace_id
    from newest t join eval_scores s using (org_id, project_id, period, trace_id)
    where s.category = 'quality' and s.value is not null and s.span_id = ''
    group by s.name, t.trace_id, t.session_id, t.task_id, t.source_trace_id
    order by 1, 2`
}

const MAX_TRACES = 20_000
