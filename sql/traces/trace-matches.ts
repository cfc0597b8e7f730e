import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { FILTERED, conditionsOf, sourceOf } from './trace-filter.ts'
import type { Conditions, FilteredTable, TraceFilter, TraceSource } from './trace-filter.ts'
import { isSameTrace } from './traces.ts'

/** Where a page begins: after the trace with this key. */
export interface TraceCursor {
  readonly started_at: Date
  readonly trace_id: string
  readonly project_id: string
}

/** The traces of a filter, to be read by the functions below. */
export interface TraceRead {
  readonly orgId: string
  readonly filter: TraceFilter
  readonly after: TraceCursor | undefined
  readonly source: TraceSource
  /** The conditions that do not hold in the source anyway. */
  readonly left: Conditions
  /** None is left: the source has just these traces, in the order of lists. */
  readonly isOrdered: boolean
}

/** @param after the traces that come after it alone */
export function readOf(
  sql: Queryable,
  orgId: string,
  filter: TraceFilter,
  after?: TraceCursor,
): TraceRead {
  const source = sourceOf(sql, orgId, filter)
  const left = conditionsOf(sql, orgId, filter, source)
  return { orgId, filter, after, source, left, isOrdered: tablesOf(left).length === 0 }
}

/** Keys of the newest traces of each project as a query, at most `limit` of each. For ordered reads. */
export function newestMatches(sql: Queryable, read: TraceRead, limit: number) {
  return sql`
    select n.* from projects p cross join lateral (${keys(sql, read, newest(sql, read, limit))}) n
    where ${isVisible(sql, read)}`
}

/**
 * Keys of matches among the newest rows of the source, as common table expressions of which `found` has
 * those that are newer than all that was not tried.
 * @param limit matches of a project that are enough
 * @param probed rows that are tried, in all projects together; more where `limit` needs them
 */
export function triedMatches(
  sql: Queryable,
  read: TraceRead,
  { limit, probed = ROWS_TRIED }: { limit: number; probed?: number | undefined },
) {
  const most = Math.max(probed, limit * PROBED_FOR_ONE)
  const each = sql`greatest(${limit}::int, ${most}::int /
    (select count(*) from projects p where ${isVisible(sql, read)}))`
  const row = sql(read.source.table)
  const rows = newest(sql, read, most)
  // The inner limit is one that the planner sees.
  const tried = sql`(select * from ${rows} limit ${each}) ${row}`
  return sql`
    tried as materialized (
      select n.* from projects p cross join lateral (
        ${keys(sql, read, tried)} where ${areLeft(sql, read)} limit ${limit}) n
      where ${isVisible(sql, read)}),
    untried as materialized (
      select n.started_at from projects p cross join lateral (
        select ${row}.started_at from ${rows} offset ${each} - 1 limit 1) n
      where ${isVisible(sql, read)}
        and (select count(*) from tried where tried.project_id = p.id) < ${limit}),
    found as (
      select * from tried
      where not exists (select from untried where untried.started_at >= tried.started_at))`
}

/**
 * Keys of all traces for which the filter holds, as a query; in no order. `offset 0` keeps the projects
 * apart: the indexes of words and tags take one at a time.
 */
export function allMatches(sql: Queryable, read: TraceRead) {
  const conditions = conditionsOf(sql, read.orgId, read.filter)
  const [first = 't', ...others] = tablesOf(conditions)
  const row = sql(first)
  const joins = others.map(
    (table) => sql`join ${sql(FILTERED[table])} ${sql(table)}
      on ${isSameTrace(sql, sql`${sql(table)}`, sql`${row}`)}`,
  )
  return sql`
    select n.* from projects p cross join lateral (
      select ${row}.project_id, ${row}.trace_id, ${row}.started_at
      from ${sql(FILTERED[first])} ${row} ${joined(sql, joins)}
      where ${row}.org_id = ${read.orgId} and ${row}.project_id = p.id ${isWithin(sql, first, read)}
        and ${all(sql, Object.values(conditions).flat())} offset 0
    ) n
    where ${isVisible(sql, read)}`
}

/**
 * Keys of the newest rows of the source in each project, at most `limit` of each, with `matches`: whether
 * the filter holds for the trace. As a query, in no order.
 */
export function walkedRows(sql: Queryable, read: TraceRead, limit: number) {
  const row = sql(read.source.table)
  return sql`
    select ${row}.project_id, ${row}.trace_id, ${row}.started_at, ${areLeft(sql, read)} as matches
    from projects p cross join lateral ${newest(sql, read, limit)} where ${isVisible(sql, read)}`
}

/** The condition that the filter holds for trace `t`, of which all conditions are looked at. */
export function fulfils(sql: Queryable, orgId: string, filter: TraceFilter) {
  const source: TraceSource = { table: 't', member: undefined, parts: [] }
  const left = conditionsOf(sql, orgId, filter, source)
  const read = { orgId, filter, after: undefined, source, left, isOrdered: false }
  return sql`${areLeft(sql, read)} ${isWithin(sql, 't', read)}`
}

function keys(sql: Queryable, { source }: TraceRead, rows: Fragment) {
  const row = sql(source.table)
  return sql`select ${row}.project_id, ${row}.trace_id, ${row}.started_at from ${rows}`
}

/** The newest rows of project `p` in the source, called by the name of its table. */
function newest(sql: Queryable, read: TraceRead, limit: number) {
  const { table, parts } = read.source
  const row = sql(table)
  const newestFirst = sql`order by ${row}.started_at desc, ${row}.trace_id desc limit ${limit}`
  const [first = sql``, ...others] = parts.map(
    (part) => sql`(
      select ${row}.* from ${sql(FILTERED[table])} ${row}
      where ${row}.org_id = ${read.orgId} and ${row}.project_id = p.id and ${part}
        ${isWithin(sql, table, read)} ${newestFirst})`,
  )
  if (others.length === 0) return sql`${first} ${row}`
  const united = joined(
    sql,
    others.map((part) => sql`union all ${part}`),
  )
  return sql`(select * from (${first} ${united}) ${row} ${newestFirst}) ${row}`
}

function isVisible(sql: Queryable, { orgId, filter }: TraceRead) {
  return sql`p.org_id = ${orgId} ${inProjects(sql, sql`p.id`, filter.projectIds)}`
}

/** What the times of a filter and the cursor say of a row; begins with `and`. */
function isWithin(sql: Queryable, table: FilteredTable, { filter, after }: TraceRead) {
  const { since, until, created_before } = filter
  const row = sql(table)
  // No trace came before its period began.
  return sql`
    ${created_before ? sql`and ${row}.period <= (${created_before}::timestamptz at time zone 'UTC')::date` : sql``}
    ${since ? sql`and ${row}.started_at >= ${since}` : sql``}
    ${until ? sql`and ${row}.started_at < ${until}` : sql``}
    ${after ? sql`and ${isAfter(sql, table, after)}` : sql``}`
}

function isAfter(sql: Queryable, table: FilteredTable, after: TraceCursor) {
  const { started_at, trace_id, project_id } = after
  const row = sql(table)
  return sql`${row}.started_at <= ${started_at} and (${row}.started_at, ${row}.trace_id, ${row}.project_id)
    < (${started_at}, ${trace_id}, ${project_id})`
}

/**
 * Whether the conditions that are left hold for a row of the source. Those on other tables are looked up
 * row by row: `offset 0` keeps the planner from joining all of the other table instead.
 */
function areLeft(sql: Queryable, { source: { table }, left }: TraceRead) {
  const lookups = tablesOf(left)
    .filter((other) => other !== table)
    .map(
      (other) => sql`exists (
        select from ${sql(FILTERED[other])} ${sql(other)}
        where ${isSameTrace(sql, sql`${sql(other)}`, sql`${sql(table)}`)}
          and ${all(sql, left[other])} offset 0)`,
    )
  return all(sql, [...left[table], ...lookups])
}

function all(sql: Queryable, conditions: readonly Fragment[]) {
  return sql`true ${joined(
    sql,
    conditions.map((each) => sql`and ${each}`),
  )}`
}

/** The driver takes an empty list for a parameter. */
function joined(sql: Queryable, fragments: readonly Fragment[]) {
  return [sql``, ...fragments]
}

function tablesOf(conditions: Conditions) {
  return (['t', 'v', 's'] as const).filter((table) => conditions[table].length > 0)
}

/**
 * Rows that are tried: a few milliseconds. A condition that fewer than one of forty of them fulfils is
 * collected.
 */
const ROWS_TRIED = 2000
/** Rows that are tried at least for one of the page. */
const PROBED_FOR_ONE = 4
