import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import { PASS_AT } from '../../jobs/rules/evals/score.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { isSameTrace, ofTraces } from '../traces/traces.ts'
import {
  addingToCells,
  addingToClusters,
  eachBin,
  FRESH_CELLS,
  FRESH_CLUSTERS,
  ofDay,
} from './fresh-cells.ts'
import type { CellKey } from './fresh-cells.ts'

/** Adds the scores of all judged traces of a day to the fresh cells, a page in each statement. */
export async function addDay(sql: Queryable, key: CellKey) {
  let last = await addPage(sql, key, pageOfDay(sql, key, undefined))
  while (last) last = await addPage(sql, key, pageOfDay(sql, key, last))
}

/**
 * Adds the scores of those of these traces that are judged to the fresh cells.
 * @param traceIds at most `PAGE_TRACES`, all of the day
 */
export async function addTraces(sql: Queryable, key: CellKey, traceIds: readonly string[]) {
  await addPage(sql, key, ofTraces(sql, key.orgId, key.projectId, traceIds, sql`t.`))
}

/**
 * Adds the scores of a page of traces to the fresh cells.
 * @param page the condition that trace `t` is in it, and what may follow one
 * @returns the last trace of the page; undefined where there was none
 */
async function addPage(sql: Queryable, key: CellKey, page: Fragment) {
  const { orgId, projectId, agentName, day } = key
  const [last] = await sql<Position[]>`
    with page as materialized (${tracesOf(sql, key, page)}),
    scores as materialized (${scoresOf(sql, key)}),
    -- What was measured together: a session's scores, else a trace's.
    units as materialized (
      select ${cell(sql)}, task, unit, lone, count(*) as n, sum(value) as s
      from scores group by ${cell(sql)}, task, unit, lone
    ), lone as (
      select ${cell(sql)}, count(*) as clusters, sum(s * s) as ss, sum(s * n) as sn, sum(n * n) as nn
      from units where lone group by ${cell(sql)}
    ), sums as (
      select ${cell(sql)}, count(*) as n, count(*) filter (where passed) as passed, sum(value) as sum,
        sum(value * value) as sum_squares, min(value) as min, max(value) as max,
        array[${eachBin(sql, (bin) => sql`count(*) filter (where bin = ${bin}::int)`)}] as histogram
      from scores group by ${cell(sql)}
    ), cells as (
      insert into ${sql(FRESH_CELLS)} as c (id, org_id, project_id, agent_name, day, ${cell(sql)}, n,
        passed, sum, sum_squares, min, max, histogram, lone_clusters, lone_ss, lone_sn, lone_nn)
      select ${idOf(sql, key)}, ${orgId}, ${projectId}, ${agentName}, ${day}::date, ${cell(sql)}, n, passed, sum,
        sum_squares, min, max, histogram, coalesce(clusters, 0), coalesce(ss, 0), coalesce(sn, 0),
        coalesce(nn, 0)
      from sums left join lone using (${cell(sql)})
      ${addingToCells(sql)}
      returning id, ${cell(sql)}
    ), shared as (
      insert into ${sql(FRESH_CLUSTERS)} as c (org_id, cell_id, task, unit, n, sum)
      select ${orgId}, id, task, unit, n, s from units join cells using (${cell(sql)}) where not lone
      ${addingToClusters(sql)}
    )
    select started_at::text as started_at, trace_id from page
    order by page.started_at desc, trace_id desc limit 1`
  return last
}

/** The page behind `after`, the first one without it. A page of an index, whatever the planner knows. */
function pageOfDay(sql: Queryable, key: CellKey, after: Position | undefined) {
  const { orgId, projectId, agentName, day } = key
  return sql`
    org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}
      and started_at >= ${day}::timestamp at time zone 'UTC'
      and started_at < (${day}::date + 1)::timestamp at time zone 'UTC'
      ${after ? sql`and (started_at, trace_id) > (${after.started_at}::timestamptz, ${after.trace_id})` : sql``}
    order by started_at, trace_id limit ${PAGE_TRACES}`
}

/** With what of a trace its scores are grouped by. */
function tracesOf(sql: Queryable, { projectId }: CellKey, page: Fragment) {
  const hash = (text: Fragment) => sql`hashtextextended(${projectId}::text || ${text}, 0)`
  return sql`
    select period, trace_id, started_at, coalesce(manifest_id::text, '') as manifest_id,
      coalesce(manifest_hash, '') as manifest_hash,
      (select verdict from verdicts v where ${isSameTrace(sql, sql`v`, sql`t`)}) as verdict,
      coalesce(${hash(sql`' task ' || task_id`)}, 0) as task,
      ${hash(sql`coalesce(' session ' || session_id, ' trace ' || trace_id)`)} as unit,
      task_id is null and session_id is null as alone
    from traces t where ${page}`
}

/**
 * The scores of the page. `offset 0` has them looked up trace by trace: the planner has no figures yet
 * of what was just imported, and would read all scores of the project for every trace.
 */
function scoresOf(sql: Queryable, { orgId, projectId }: CellKey) {
  return sql`
    select manifest_id, manifest_hash, verdict, task, unit, name, source,
      -- The square of a lesser one is nearer to 0 than Postgres will have a number be.
      case when value < 1e-100 then 0 else value end as value,
      coalesce(passed, value >= ${PASS_AT}) as passed,
      least(floor(value * ${HISTOGRAM_BINS}::int)::int, ${HISTOGRAM_BINS - 1}::int) as bin,
      -- What several sources scored alike is one cluster of several cells.
      alone and min(source) over same = max(source) over same as lone
    from page cross join lateral (
      select name, source, value, passed from eval_scores s
      where s.org_id = ${orgId} and s.project_id = ${projectId} and s.period = page.period
        and s.trace_id = page.trace_id
        and s.value is not null and page.verdict is not null
      offset 0
    ) as scored
    window same as (partition by page.trace_id, name)`
}

/** The id that the cell has already, else a new one. */
function idOf(sql: Queryable, key: CellKey) {
  return sql`coalesce((
    select id from score_cells k where ${ofDay(sql, key)} and k.manifest_id = sums.manifest_id
      and k.manifest_hash = sums.manifest_hash and k.name = sums.name and k.source = sums.source
      and k.verdict = sums.verdict
  ), nextval(pg_get_serial_sequence('score_cells', 'id')))`
}

/** What tells apart the cells of an agent and day. */
function cell(sql: Queryable) {
  return sql`manifest_id, manifest_hash, name, source, verdict`
}

/** Traces whose scores one statement adds up. */
export const PAGE_TRACES = 500

/** The last trace of a page; its time is text, because a `Date` has no microseconds. */
interface Position {
  readonly started_at: string
  readonly trace_id: string
}
