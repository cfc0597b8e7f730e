import { unprepared, withSettings } from '../core/db.ts'
import type { Fragment, Queryable, Sql } from '../core/db.ts'
import { COLLECTING, countQuickly } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import type { TraceFilter } from './trace-filter.ts'
import { allMatches, newestMatches, readOf, triedMatches } from './trace-matches.ts'
import type { TraceCursor } from './trace-matches.ts'
import { isSameTrace, ofUntied, shownColumns } from './traces.ts'
import type { ShownTraceRow } from './traces.ts'

export interface TracePage {
  readonly limit: number
  readonly offset: number
  readonly after?: TraceCursor | undefined
}

/**
 * Newest first, by start, id and project.
 *
 * A condition with an index in this order is read along it. Where others are left, the newest rows of that
 * index are tried first: what is common fills a page from them. Else all that matches is collected and
 * sorted. The planner does neither: it hopes to meet what is rare among the newest, and walks through all.
 * @param probed rows that are tried, in place of a suitable number
 */
export function listTraces(
  sql: Sql,
  orgId: string,
  filter: TraceFilter,
  page: TracePage,
  probed?: number,
): Promise<readonly ShownTraceRow[]> {
  return findPage(sql, { orgId, filter, page, probed }, (queryable, found) =>
    readPage(queryable, orgId, found),
  )
}

/** The names of the newest, in the same order. */
export function listTraceNames(sql: Sql, orgId: string, filter: TraceFilter, limit: number) {
  const page = { limit, offset: 0 }
  return findPage(sql, { orgId, filter, page }, (queryable, found) =>
    unprepared(queryable<{ project_id: string; trace_id: string }[]>`
      with ${found} select project_id, trace_id from page
      order by started_at desc, trace_id desc, project_id desc`),
  )
}

/** @param read reads traces by the keys in `page`, one of the common table expressions it is given */
async function findPage<Row>(
  sql: Sql,
  { orgId, filter, page, probed }: PageWanted,
  read: (sql: Queryable, found: Fragment) => PromiseLike<readonly Row[]>,
): Promise<readonly Row[]> {
  const wanted = readOf(sql, orgId, filter, page.after)
  const limit = page.limit + page.offset
  const shown = sql`page as materialized (
    select project_id, trace_id, started_at from found
    order by started_at desc, trace_id desc, project_id desc limit ${page.limit} offset ${page.offset})`
  if (wanted.isOrdered) {
    return read(sql, sql`found as (${newestMatches(sql, wanted, limit)}), ${shown}`)
  }
  const tried = await read(sql, sql`${triedMatches(sql, wanted, { limit, probed })}, ${shown}`)
  if (tried.length === page.limit) return tried
  return withSettings(sql, COLLECTING, (tx) =>
    read(tx, sql`found as materialized (${allMatches(tx, wanted)}), ${shown}`),
  )
}

/** How many traces match, counted no further than `limit`; null when that takes longer. */
export async function countTraces(
  sql: Sql,
  orgId: string,
  filter: TraceFilter,
  { limit, withinMs }: { readonly limit: number; readonly withinMs: number },
) {
  const read = readOf(sql, orgId, filter)
  const matches = read.isOrdered ? newestMatches(sql, read, limit) : allMatches(sql, read)
  return countQuickly(sql, limit, sql`(${matches}) as found`, withinMs)
}

/** The projects with traces of a manifest, at most two. @param projectIds null for all projects */
export async function listManifestProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  manifestId: string,
) {
  const some = (traces: Fragment) => sql`exists (
    select 1 from traces t where t.org_id = p.org_id and t.project_id = p.id and ${traces})`
  // Either is found by an index of its own.
  const rows = await sql<{ project_id: string }[]>`
    select p.id as project_id from projects p
    where p.org_id = ${orgId} ${inProjects(sql, sql`p.id`, projectIds)}
      and (${some(sql`t.manifest_id = ${manifestId}`)} or ${some(ofUntied(sql, orgId, manifestId))})
    order by p.created_at, p.id limit 2`
  return rows.map(({ project_id }) => project_id)
}

function readPage(sql: Queryable, orgId: string, found: Fragment) {
  // Looked up one by one: the planner would rather read whole tables than visit a part of each.
  return unprepared(sql<ShownTraceRow[]>`
    with ${found}
    select ${shownColumns(sql)}
    from page
    join trace_ids k on k.org_id = ${orgId} and k.project_id = page.project_id
      and k.trace_id = page.trace_id
    cross join lateral (
      select * from traces t where ${isSameTrace(sql, sql`t`, sql`k`)} limit 1) t
    left join lateral (
      select * from verdicts v where ${isSameTrace(sql, sql`v`, sql`k`)} limit 1) v on true
    join projects p on p.org_id = t.org_id and p.id = t.project_id
    order by t.started_at desc, t.trace_id desc, t.project_id desc`)
}

interface PageWanted {
  readonly orgId: string
  readonly filter: TraceFilter
  readonly page: TracePage
  readonly probed?: number | undefined
}
