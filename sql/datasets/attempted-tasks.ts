import type { Queryable } from '../core/db.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { isSameTrace } from '../traces/traces.ts'
import type { Selection } from './trace-filters.ts'

/**
 * Joins to trace `t` what it is an attempt at, as `attempt.task`: its task; for a replay, what the first
 * trace of its line is; for a trace that was replayed, itself. So a trace, its replays and the replays
 * of these are attempts at one task, whatever ids they carry.
 */
export function attemptedTask(sql: Queryable, orgId: string, projectId: string) {
  return sql`
    left join (
      select distinct ${sourceTraceId(sql, sql`r`)} as trace_id from traces r
      where r.org_id = ${orgId} and r.project_id = ${projectId} and r.source_type = 'replayed'
    ) replayed on replayed.trace_id = t.trace_id
    cross join lateral (
      select case when t.source_type = 'replayed' then ${firstOfLine(sql, orgId, projectId)}
        else coalesce('task ' || t.task_id, 'trace ' || replayed.trace_id) end as task) attempt`
}

/** What the first trace of the line of replay `t` is an attempt at: its task, else itself. */
function firstOfLine(sql: Queryable, orgId: string, projectId: string) {
  return sql`(
    with recursive ${line(sql, orgId, projectId)}
    select coalesce('task ' || task_id, 'trace ' || source_id,
      case when generation > 0 or replayed.trace_id is not null then 'trace ' || trace_id end)
    from line order by generation desc limit 1)`
}

/**
 * The first trace of the line of trace `t` as an `Unreplayed`; null where `t` is no replay, for which
 * nothing is looked up.
 */
export function firstTrace(sql: Queryable, orgId: string, projectId: string) {
  return sql`case when t.source_type = 'replayed' then (
    with recursive ${line(sql, orgId, projectId)}
    select json_build_object('trace_id', f.trace_id, 'task_id', f.task_id, 'session_id', f.session_id,
      'parent_trace_id', f.came_from, 'parent_task_id', p.task_id, 'parent_session_id', p.session_id)
    from (
      select *, coalesce(source_id, parent_trace_id) as came_from
      from line order by generation desc limit 1) f
    left join trace_ids i on i.org_id = ${orgId} and i.project_id = ${projectId}
      and i.trace_id = f.came_from
    left join traces p on ${isSameTrace(sql, sql`p`, sql`i`)}) end`
}

/** The table `line`: trace `t` (generation 0), the trace it replays, the one that this replays, and so on. */
function line(sql: Queryable, orgId: string, projectId: string) {
  return sql`line as (
    select t.trace_id, t.task_id, t.session_id, t.parent_trace_id,
      ${sourceTraceId(sql, sql`t`)} as source_id, 0 as generation
    union all
    select s.trace_id, s.task_id, s.session_id, s.parent_trace_id, ${sourceTraceId(sql, sql`s`)},
      line.generation + 1
    from line join trace_ids i on i.org_id = ${orgId} and i.project_id = ${projectId}
        and i.trace_id = line.source_id
      join traces s on ${isSameTrace(sql, sql`s`, sql`i`)}
    where line.generation < ${MAX_GENERATIONS})`
}

/** Joins to trace `t` the task of a batch that it is the result of, as `result.replay`. Only pairs ask for it. */
export function replayResult(sql: Queryable, { recipe }: Selection) {
  if (recipe.dataset_type !== 'dpo') return sql`cross join (select null::json as replay) result`
  return sql`left join lateral (
    select json_build_object('batch_id', k.batch_id, 'task_id', k.id,
      'outcome', k.comparison ->> 'outcome') as replay
    from replay_tasks k
    where k.org_id = t.org_id and k.project_id = t.project_id
      and k.trace_id = ${sourceTraceId(sql, sql`t`)} and k.replayed_trace_id = t.trace_id
      and k.status = 'completed'
    order by k.ended_at desc, k.id desc limit 1) result on true`
}

/** Replays of replays are followed back so far; traces that replay one another end there. */
const MAX_GENERATIONS = 20
