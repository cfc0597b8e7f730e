import type { Fragment, Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { FILTERED, conditionsOf } from './trace-filter.ts'
import type { Conditions, FilteredTable, TraceFilter, TraceSource } from './trace-filter.ts'
import { isSameTrace } from './traces.ts'

/** Where a page begins: after the trace with this key. */
export interface TraceCursor {
  readonly started_at: Date
  readonly trace_id: string
  readonly project_id: string
}

/** What is read: the traces of a filter after a cursor. */
export interface TraceRead {
  readonly orgId: string
  readonly filter: TraceFilter
  readonly after?: TraceCursor | undefined
}

/**
 * Keys of traces as a query: the newest of each project in a source for which the filter holds, at most
 * `limit` of each.
 * @param conditions those that the source leaves
 * @param probed how many rows of the source are read at most, in all projects together
 */
export function newestMatches(
  sql: Queryable,
  read: TraceRead,
  source: TraceSource,
  conditions: Conditions,
  { limit, probed }: { limit: number; probed?: number | undefined },
) {
  const row = sql(source.table)
  const rows =
    probed === undefined
      ? newest(sql, read, source, limit)
      : newest(sql, read, source, probed, probedEach(sql, read, limit, probed))
  return sql`
    select n.* from projects p cross join lateral (
      select ${row}.project_id, ${row}.trace_id, ${row}.started_at from ${rows}
      where ${holds(sql, source.table, conditions)} limit ${limit}
    ) n
    where ${isVisible(sql, read)}`
}

/**
 * The starts, as a query, down to which `newestMatches` has seen a project of which it found fewer than
 * `limit`, although the source has more of it.
 * @param found the name of what `newestMatches` found
 */
export function probedStarts(
  sql: Queryable,
  read: TraceRead,
  source: TraceSource,
  { limit, probed, found }: { limit: number; probed: number; found: string },
) {
  const row = sql(source.table)
  const each = probedEach(sql, read, limit, probed)
  return sql`
    select n.started_at from projects p cross join lateral (
      select ${row}.started_at from ${newest(sql, read, source, probed)} offset ${each} - 1 limit 1
    ) n
    where ${isVisible(sql, read)}
      and (select count(*) from ${sql(found)} f where f.project_id = p.id) < ${limit}`
}

/** Keys of all traces for which the filter holds, as a query; in no order. */
export function allMatches(sql: Queryable, read: TraceRead) {
  const { orgId, filter } = read
  const conditions = conditionsOf(sql, orgId, filter)
  const [first = 't', ...others] = tablesOf(conditions)
  const row = sql(first)
  const ids = filter.projectIds
    ? sql`${filter.projectIds}::uuid[]`
    : sql`array(select id from projects where org_id = ${orgId})`
  return sql`
    select ${row}.project_id, ${row}.trace_id, ${row}.started_at
    from ${sql(FILTERED[first])} ${row}
    ${joined(
      sql,
      others.map(
        (table) => sql`join ${sql(FILTERED[table])} ${sql(table)}
      on ${isSameTrace(sql, sql`${sql(table)}`, sql`${row}`)}`,
      ),
    )}
    where ${row}.org_id = ${orgId} and ${row}.project_id = any(${ids}) ${within(sql, first, read)}
      and ${all(sql, Object.values(conditions).flat())}`
}

/**
 * The newest rows of project `p` in a source, called by the name of its table.
 * @param most of them that are read; by default `limit`, which the planner can see
 */
function newest(
  sql: Queryable,
  read: TraceRead,
  { table, parts }: TraceSource,
  limit: number,
  most?: Fragment,
) {
  const row = sql(table)
  const newestFirst = sql`order by ${row}.started_at desc, ${row}.trace_id desc limit ${limit}`
  const [first = sql``, ...others] = parts.map(
    (part) => sql`(
      select ${row}.* from ${sql(FILTERED[table])} ${row}
      where ${row}.org_id = ${read.orgId} and ${row}.project_id = p.id and ${part}
        ${within(sql, table, read)} ${newestFirst}) `,
  )
  const united = joined(
    sql,
    others.map((part) => sql`union all ${part}`),
  )
  const rows =
    others.length === 0 ? first : sql`(select * from (${first} ${united}) ${row} ${newestFirst})`
  return most ? sql`(select * from ${rows} ${row} limit ${most}) ${row}` : sql`${rows} ${row}`
}

/** How many rows of each project are tried, so that those of all are about `probed`. */
function probedEach(sql: Queryable, read: TraceRead, limit: number, probed: number) {
  return sql`greatest(${limit}::int, ${probed}::int /
    (select count(*) from projects p where ${isVisible(sql, read)}))`
}

function isVisible(sql: Queryable, { orgId, filter }: TraceRead) {
  return sql`p.org_id = ${orgId} ${inProjects(sql, sql`p.id`, filter.projectIds)}`
}

/** What the times of a filter and the cursor say of a row. */
function within(sql: Queryable, table: FilteredTable, { filter, after }: TraceRead) {
  const { since, until } = filter
  const row = sql(table)
  return sql`
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
 * Whether the conditions hold for a row that a source gave. Those on other tables are looked up row by row:
 * `offset 0` keeps the planner from joining all of the other table instead.
 */
function holds(sql: Queryable, table: FilteredTable, conditions: Conditions) {
  const others = tablesOf(conditions).filter((other) => other !== table)
  const lookups = others.map(
    (other) => sql`exists (
      select from ${sql(FILTERED[other])} ${sql(other)}
      where ${isSameTrace(sql, sql`${sql(other)}`, sql`${sql(table)}`)}
        and ${all(sql, conditions[other])} offset 0)`,
  )
  return all(sql, [...conditions[table], ...lookups])
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
