import type { Fragment, Queryable } from '../core/db.ts'
import { countUpTo } from '../core/pages.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { isSameTrace, newestOfManifest } from '../traces/traces.ts'

/** One activation: a version became the active one of its agent. */
export interface ActivationRow {
  ordinal: number
  manifest_id: string
  manifest_hash: string
  version_number: number
  activated_at: Date
}

/** What was measured in a session while one activation held. */
export interface SessionRow {
  ordinal: number
  /** The session's worst trace. */
  trace_id: string
  session_id: string | null
  /** Null when its traces belong to several tasks. */
  task_id: string | null
  /** Mean of its traces. */
  value: number
  n: number
  passed: number
}

/** The metric that stands for an agent as a whole: the fused quality of its decisions. */
export const QUALITY_METRIC = 'quality_avg'

/** The newest `MAX_ACTIVATIONS` of the window, oldest first. */
export async function listActivations(sql: Queryable, agent: AgentKey, since: Date) {
  const rows = await sql<ActivationRow[]>`
    select a.ordinal, a.manifest_id, m.manifest_hash, m.version_number, a.activated_at
    from manifest_activations a
    join manifests m on m.org_id = a.org_id and m.id = a.manifest_id
    where ${ofAgent(sql, agent)} and (a.activated_at >= ${since} or not exists (
      select from manifest_activations later
      where later.org_id = a.org_id and later.project_id = a.project_id
        and later.agent_name = a.agent_name and later.ordinal > a.ordinal
        and later.activated_at < ${since}))
    order by a.ordinal desc limit ${MAX_ACTIVATIONS}`
  return rows.reverse()
}

/**
 * Sessions of observed traces, by activation and time: the newest `MAX_SESSIONS` of each activation, made
 * of its newest `MAX_TRACES` that have a value, which are looked for among its newest `MAX_PROBED`. A trace
 * belongs to the last activation of its manifest before it, else to the first one.
 */
export async function listSessions(
  sql: Queryable,
  agent: AgentKey,
  metric: string,
  { fromOrdinal, since }: { fromOrdinal: number; since: Date },
) {
  const measured = newestMeasured(sql, agent, metric, {
    manifestId: sql`o.manifest_id`,
    begins: sql`greatest(o.begins, ${since})`,
    ends: sql`o.ends`,
  })
  return sql<SessionRow[]>`
    with own as (
      select ordinal, manifest_id,
        case when row_number() over same = 1 then '-infinity' else activated_at end as begins,
        coalesce(lead(activated_at) over same, 'infinity') as ends
      from manifest_activations a where ${ofAgent(sql, agent)}
      window same as (partition by manifest_id order by ordinal)
    ), measured as (
      select o.ordinal, t.*
      from own o cross join lateral (
        select * from ${measured} order by t.started_at desc, t.trace_id desc limit ${MAX_TRACES}) t
      where o.ordinal >= ${fromOrdinal}
    ), sessions as (
      select ordinal, (array_agg(trace_id order by value, trace_id))[1] as trace_id,
        max(session_id) as session_id,
        case when count(distinct task_id) = 1 then max(task_id) end as task_id,
        avg(value) as value, count(*)::int as n, count(*) filter (where passed)::int as passed,
        min(started_at) as started_at
      from measured group by ordinal, coalesce(session_id, 'trace ' || trace_id)
    ), ranked as (
      select s.*, row_number() over (partition by ordinal order by started_at desc, trace_id) as position
      from sessions s
    )
    select ordinal, trace_id, session_id, task_id, value, n, passed from ranked
    where position <= ${MAX_SESSIONS} order by ordinal, started_at, trace_id`
}

/**
 * How many traces `listSessions` takes of an agent's newest activation, which begins then and is one of
 * this manifest, counted no further than `limit`.
 */
export async function countMeasured(
  sql: Queryable,
  agent: AgentKey,
  metric: string,
  { manifestId, begins, limit }: { manifestId: string; begins: Date; limit: number },
) {
  const measured = newestMeasured(sql, agent, metric, {
    manifestId: sql`${manifestId}`,
    begins: sql`${begins}`,
    ends: sql`'infinity'`,
  })
  return countUpTo(sql, limit, measured)
}

/**
 * Those of a manifest's newest `MAX_PROBED` observed traces `t` of a time that have a value `v` of a metric.
 * They are found in the order of `started_at desc, trace_id desc`: no more are probed than a limit needs.
 */
function newestMeasured(
  sql: Queryable,
  agent: AgentKey,
  metric: string,
  { manifestId, begins, ends }: Record<'manifestId' | 'begins' | 'ends', Fragment>,
) {
  const probed = newestOfManifest(
    sql,
    { orgId: agent.orgId, manifestId },
    {
      columns: sql`t.org_id, t.project_id, t.period, t.trace_id, t.started_at, t.session_id, t.task_id`,
      where: sql`${isObserved(sql, agent)} and t.started_at >= ${begins} and t.started_at < ${ends}`,
      limit: MAX_PROBED,
    },
  )
  return sql`${probed} t ${metricValues(sql, metric)}`
}

/** The condition that trace `t` is one of an agent's observed ones. */
function isObserved(sql: Queryable, { orgId, projectId, agentName }: AgentKey) {
  return sql`t.org_id = ${orgId} and t.project_id = ${projectId} and t.agent_name = ${agentName}
    and t.source_type = any(${OBSERVED}::text[])`
}

/** Joins the value `v` of a metric to trace `t`; for a score, the mean of all values under its name. */
function metricValues(sql: Queryable, metric: string) {
  if (metric === QUALITY_METRIC) {
    // `offset 0` has them looked up trace by trace, and not all of the table read.
    return sql`
      join lateral (
        select quality_avg as value, eval_verdict = 'pass' as passed from verdicts d
        where ${isSameTrace(sql, sql`d`, sql`t`)}
          and d.quality_avg is not null
        offset 0) v on true`
  }
  return sql`
    join lateral (
      select avg(s.value) as value, bool_and(coalesce(s.passed, s.value >= ${PASS_AT})) as passed
      from eval_scores s
      where ${isSameTrace(sql, sql`s`, sql`t`)}
        and s.name = ${metric} and s.span_id = '' and s.value is not null
      having count(*) > 0) v on true`
}

function ofAgent(sql: Queryable, { orgId, projectId, agentName }: AgentKey) {
  return sql`a.org_id = ${orgId} and a.project_id = ${projectId} and a.agent_name = ${agentName}`
}

const MAX_ACTIVATIONS = 50
const MAX_SESSIONS = 2000
const MAX_TRACES = 10_000
/** Enough for a look at a metric that one trace in a thousand has. A probe takes some 20 µs. */
const MAX_PROBED = 50_000
/** Where a score does not say whether it passed. */
const PASS_AT = 0.7
/** Traces of real use; replays and synthetic traces say nothing about traffic. */
const OBSERVED: readonly string[] = ['production', 'imported', 'manual']
