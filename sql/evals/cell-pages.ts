import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import { PASS_AT } from '../../jobs/rules/evals/score.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { isSameTrace } from '../traces/traces.ts'
import { FRESH_CELLS, FRESH_CLUSTERS } from './fresh-cells.ts'
import type { CellKey } from './fresh-cells.ts'

/** The last trace of a page; its time is text, because a `Date` has no microseconds. */
interface Position {
  readonly started_at: string
  readonly trace_id: string
}

/**
 * Adds the scores of the page of traces behind `after`, the first one without it, to the fresh cells.
 * @returns the last trace of the page; undefined where there was none
 */
export async function addPage(sql: Queryable, key: CellKey, after: Position | undefined) {
  const { orgId, projectId, agentName, day } = key
  const [last] = await sql<Position[]>`
    with page as materialized (${tracesOf(sql, key, after)}),
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
        array[${bins(sql, (bin) => sql`count(*) filter (where bin = ${bin}::int)`)}] as histogram
      from scores group by ${cell(sql)}
    ), cells as (
      insert into ${sql(FRESH_CELLS)} as c (id, org_id, project_id, agent_name, day, ${cell(sql)}, n,
        passed, sum, sum_squares, min, max, histogram, lone_clusters, lone_ss, lone_sn, lone_nn)
      select ${idOf(sql, key)}, ${orgId}, ${projectId}, ${agentName}, ${day}::date, ${cell(sql)}, n, passed, sum,
        sum_squares, min, max, histogram, coalesce(clusters, 0), coalesce(ss, 0), coalesce(sn, 0),
        coalesce(nn, 0)
      from sums left join lone using (${cell(sql)})
      ${addingUp(sql)}
      returning id, ${cell(sql)}
    ), shared as (
      insert into ${sql(FRESH_CLUSTERS)} as c (org_id, cell_id, task, unit, n, sum)
      select ${orgId}, id, task, unit, n, s from units join cells using (${cell(sql)}) where not lone
      on conflict (org_id, cell_id, task, unit) do update
        set n = c.n + excluded.n, sum = c.sum + excluded.sum
    )
    select started_at::text as started_at, trace_id from page
    order by page.started_at desc, trace_id desc limit 1`
  return last
}

/** With what of a trace its scores are grouped by. A page of an index, whatever the planner knows. */
function tracesOf(sql: Queryable, key: CellKey, after: Position | undefined) {
  const { orgId, projectId, agentName, day } = key
  const hash = (text: Fragment) => sql`hashtextextended(${projectId}::text || ${text}, 0)`
  return sql`
    select period, trace_id, started_at, coalesce(manifest_id::text, '') as manifest_id,
      coalesce(manifest_hash, '') as manifest_hash,
      coalesce((select verdict from verdicts v where ${isSameTrace(sql, sql`v`, sql`t`)}), '') as verdict,
      coalesce(${hash(sql`' task ' || task_id`)}, 0) as task,
      ${hash(sql`coalesce(' session ' || session_id, ' trace ' || trace_id)`)} as unit,
      task_id is null and session_id is null as alone
    from traces t
    where org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}
      and started_at >= ${day}::timestamp at time zone 'UTC'
      and started_at < (${day}::date + 1)::timestamp at time zone 'UTC'
      ${after ? sql`and (started_at, trace_id) > (${after.started_at}::timestamptz, ${after.trace_id})` : sql``}
    order by started_at, trace_id limit ${PAGE_TRACES}`
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
        and s.value is not null
      offset 0
    ) as scored
    window same as (partition by page.trace_id, name)`
}

/** The id that the cell has already, else a new one. */
function idOf(sql: Queryable, { orgId, projectId, agentName, day }: CellKey) {
  return sql`coalesce((
    select id from score_cells k where k.org_id = ${orgId} and k.project_id = ${projectId}
      and k.agent_name = ${agentName} and k.manifest_id = sums.manifest_id
      and k.manifest_hash = sums.manifest_hash and k.day = ${day}::date and k.name = sums.name
      and k.source = sums.source and k.verdict = sums.verdict
  ), nextval(pg_get_serial_sequence('score_cells', 'id')))`
}

/** What tells apart the cells of an agent and day. */
function cell(sql: Queryable) {
  return sql`manifest_id, manifest_hash, name, source, verdict`
}

/** Adds a page to the cells that pages before it made. */
function addingUp(sql: Queryable) {
  return sql`
    on conflict (org_id, project_id, agent_name, manifest_id, manifest_hash, day, name, source, verdict)
    do update set n = c.n + excluded.n, passed = c.passed + excluded.passed,
      sum = c.sum + excluded.sum, sum_squares = c.sum_squares + excluded.sum_squares,
      min = least(c.min, excluded.min), max = greatest(c.max, excluded.max),
      histogram = array[${bins(sql, (bin) => sql`c.histogram[${bin + 1}::int] + excluded.histogram[${bin + 1}::int]`)}],
      lone_clusters = c.lone_clusters + excluded.lone_clusters, lone_ss = c.lone_ss + excluded.lone_ss,
      lone_sn = c.lone_sn + excluded.lone_sn, lone_nn = c.lone_nn + excluded.lone_nn`
}

function bins(sql: Queryable, each: (bin: number) => Fragment) {
  return Array.from(
    { length: HISTOGRAM_BINS },
    (_, bin) => sql`${bin ? sql`,` : sql``} ${each(bin)}`,
  )
}

/** Traces whose scores one statement adds up. */
const PAGE_TRACES = 500
