import { unprepared, withSettings } from '../core/db.ts'
import type { Fragment, Queryable, Sql } from '../core/db.ts'
import { COLLECTING, countQuickly } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import type { TraceFilter } from './trace-filter.ts'
import { allMatches, newestMatches, readOf, triedMatches } from './trace-matches.ts'
import type { TraceCursor } from './trace-matches.ts'
import { isSameTrace, ofManifest, shownColumns } from './traces.ts'
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
export async function listTraces(
  sql: Sql,
  orgId: string,
  filter: TraceFilter,
  page: TracePage,
  probed?: number,
): Promise<readonly ShownTraceRow[]> {
  const read = readOf(sql, orgId, filter, page.after)
  const limit = page.limit + page.offset
  if (read.isOrdered) {
    return readPage(sql, orgId, page, sql`found as (${newestMatches(sql, read, limit)})`)
  }
  const tried = await readPage(sql, orgId, page, triedMatches(sql, read, { limit, probed }))
  if (tried.length === page.limit) return tried
  return withSettings(sql, COLLECTING, (tx) =>
    readPage(tx, orgId, page, sql`found as materialized (${allMatches(tx, read)})`),
  )
}

/** How many traces match, counted no further than `limit`; null when that takes long. */
export async function countTraces(sql: Sql, orgId: string, filter: TraceFilter, limit: number) {
  const read = readOf(sql, orgId, filter)
  const matches = read.isOrdered ? newestMatches(sql, read, limit) : allMatches(sql, read)
  return countQuickly(sql, limit, sql`(${matches}) as found`)
}

/** The projects with traces of a manifest, at most two. @param projectIds null for all projects */
export async function listManifestProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  manifestId: string,
) {
  const rows = await sql<{ project_id: string }[]>`
    select p.id as project_id from projects p
    where p.org_id = ${orgId}
      ${inProjects(sql, sql`p.id`, projectIds)}
      and exists (select 1 from traces t where t.org_id = p.org_id and t.project_id = p.id
        and ${ofManifest(sql, orgId, manifestId)})
    order by p.created_at, p.id limit 2`
  return rows.map(({ project_id }) => project_id)
}

/** @param found common table expressions, of which `found` has the keys of traces */
function readPage(sql: Queryable, orgId: string, { limit, offset }: TracePage, found: Fragment) {
  // Looked up one by one: the planner would rather read whole tables than visit a part of each.
  return unprepared(sql<ShownTraceRow[]>`
    with ${found}, page as materialized (
      select project_id, trace_id from found
      order by started_at desc, trace_id desc, project_id desc limit ${limit} offset ${offset}
    )
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
