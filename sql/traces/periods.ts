import type { Queryable, Transaction } from '../core/db.ts'
import { deletePeriodChanges, deletePeriodCounts, holdCounts } from './count-changes.ts'

/** A month of arrival: its first day, `YYYY-MM-DD`. Rows about a trace are in the partitions of its period. */
export type Period = string

/** Partitions of a period in all the tables that have them. */
export interface StoredPeriod {
  readonly period: Period
  readonly bytes: number
}

/**
 * Makes the partitions of the month and of the one after it, of those that are missing. Nobody waits for
 * it who stores or reads traces; of two that do so at once one waits for the other.
 * @returns the periods it made
 */
export async function makePeriods(tx: Transaction, now: Date): Promise<Period[]> {
  const made = await tx<{ period: Period }[]>`
    with month as materialized (
      select (date_trunc('month', ${now}::timestamptz at time zone 'UTC')
        + make_interval(months => ahead))::date as period
      from generate_series(0, 1) ahead order by ahead)
    select period::text as period from month where make_trace_period(period)`
  return made.map(({ period }) => period)
}

/**
 * Collects statistics of the divided tables as wholes where those are a day old. Nobody waits for it.
 * Autovacuum does so for partitions alone, and the planner needs both.
 */
export async function analyzeWholes(sql: Queryable) {
  const tables = await sql<{ name: string; only: boolean }[]>`
    select relname as name, current_setting('server_version_num')::int >= 180000 as only
    from pg_stat_user_tables
    where relname = any(partitioned_tables())
      and (last_analyze is null or last_analyze < now() - interval '1 day')`
  // Before PostgreSQL 18 there is no way to leave the partitions out.
  for (const { name, only } of tables) await sql.unsafe(`analyze ${only ? 'only' : ''} ${name}`)
}

/** The periods that are stored, the oldest first. */
export async function listPeriods(sql: Queryable) {
  return sql<StoredPeriod[]>`
    select period::text as period,
      (select sum(pg_total_relation_size(to_regclass(partition_name(name, period))))
        from unnest(partitioned_tables()) as name)::int8 as bytes
    from trace_periods where dropped_at is null order by trace_periods.period`
}

/**
 * The periods whose last trace came that many days ago, the oldest first. Traces come into a period until
 * the next one has been made and has begun.
 */
export async function listExpiredPeriods(
  sql: Queryable,
  keptDays: number,
  now: Date,
): Promise<Period[]> {
  const expired = await sql<{ period: Period }[]>`
    select period::text as period from (
      select period, dropped_at, greatest(lead(created_at) over (order by period),
        lead(period) over (order by period)::timestamp at time zone 'UTC') as ended_at
      from trace_periods) as p
    where dropped_at is null and ended_at < ${now}::timestamptz - make_interval(days => ${keptDays})
    order by p.period`
  return expired.map(({ period }) => period)
}

/**
 * Takes a period from those that are stored, for `dropPartitions` in the same transaction. Until that ends,
 * counts are only changed by those who change traces. The ids stay, for `deleteDroppedIds`, and are free for
 * other traces.
 * @returns false when it is gone already
 */
export async function removePeriod(tx: Transaction, period: Period): Promise<boolean> {
  const { count } = await tx`
    update trace_periods set dropped_at = now() where period = ${period} and dropped_at is null`
  if (count > 0) await holdCounts(tx)
  return count > 0
}

/** A query of the days that traces of a period started on, each with `n`, how many of an agent did. */
export function daysOfPeriod(sql: Queryable, period: Period) {
  return sql`
    select org_id, project_id, agent_name, day, sum(n) as n from all_trace_counts
    where period = ${period} group by 1, 2, 3, 4 having sum(n) > 0`
}

/** How many traces of a period a project has. */
export interface PeriodTraces {
  readonly org_id: string
  readonly project_id: string
  readonly count: number
}

/** Of the projects that have any. */
export async function countPeriodTraces(sql: Queryable, period: Period) {
  return sql<PeriodTraces[]>`
    select org_id, project_id, sum(n)::int8 as count from (${daysOfPeriod(sql, period)}) as days
    group by 1, 2 order by 1, 2`
}

/**
 * Drops all that is stored of a removed period, and its counts; whatever its size, in milliseconds. Whoever
 * uses traces waits for the end of the transaction, so this comes last in it.
 */
export async function dropPartitions(tx: Transaction, period: Period) {
  const parts = await tx<{ name: string; part: string }[]>`
    select name, partition_name(name, ${period}::date) as part from unnest(partitioned_tables()) name`
  // Before anybody waits: as long as the counts are held, nothing is added to these rows.
  await deletePeriodCounts(tx, period)
  for (const { name } of parts) await tx`lock table only ${tx(name)} in access exclusive mode`
  for (const { part } of parts) await tx`drop table ${tx(part)}`
  await deletePeriodChanges(tx, period)
}

/** The periods whose traces are dropped, and some of whose ids may still be there. */
export async function listDroppedPeriods(sql: Queryable): Promise<Period[]> {
  const dropped = await sql<{ period: Period }[]>`
    select period::text as period from trace_periods where dropped_at is not null order by period`
  return dropped.map(({ period }) => period)
}

/**
 * Deletes the ids of dropped periods that stand in some pages of the table, from page `from` on, and what
 * was found of their traces. There is no index by period, which each trace would pay for; but as pages are
 * read in turn, all ids are seen once.
 * @returns how many ids it deleted, and the page to go on from; undefined after the last one
 */
export async function deleteDroppedIds(sql: Queryable, periods: readonly Period[], from: number) {
  const to = from + PAGES_TOGETHER
  const [row] = await sql<{ count: number; is_last: boolean }[]>`
    with dropped as materialized (
      select ctid from trace_ids
      where ctid >= ${`(${from},0)`}::tid and ctid < ${`(${to},0)`}::tid
        and period = any(${periods}::date[])
      order by org_id, project_id, trace_id collate "C" for update
    ), deleted as (
      delete from trace_ids k using dropped where k.ctid = dropped.ctid returning k.trace_id
    )
    select count(*) as count,
      ${to} >= pg_relation_size('trace_ids') / current_setting('block_size')::int as is_last
    from deleted`
  return { count: row?.count ?? 0, next: row?.is_last ? undefined : to }
}

/** Forgets dropped periods of which no id is left. */
export async function forgetPeriods(sql: Queryable, periods: readonly Period[]) {
  await sql`
    delete from trace_periods where dropped_at is not null and period = any(${periods}::date[])`
}

/**
 * SQL that deletes those ids of rows of `source` whose traces were dropped with their period, so that others
 * may have them. In one order, so that two transactions wait for each other.
 * @param source a table or a subquery with an alias
 */
export function freeDroppedIds(source: string) {
  return `
    with dropped as materialized (
      select org_id, project_id, trace_id from ${source} join trace_ids k using (org_id, project_id, trace_id)
      where k.period in (select period from trace_periods where dropped_at is not null)
      order by org_id, project_id, trace_id collate "C" for update of k
    )
    delete from trace_ids k using dropped d
    where k.org_id = d.org_id and k.project_id = d.project_id and k.trace_id = d.trace_id`
}

/** Some thousand ids, which takes less than a second. */
const PAGES_TOGETHER = 32
