import { unprepared, withSettings } from '../core/db.ts'
import type { Fragment, Queryable, Sql } from '../core/db.ts'
import { countQuickly, JOINING_PARTS } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import { conditionsOf, sourceOf } from './trace-filter.ts'
import type { TraceFilter } from './trace-filter.ts'
import { allMatches, newestMatches, probedStarts } from './trace-matches.ts'
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
 * One condition that has an index in this order is read along it. Where there are more, the newest rows
 * of that index are tried first: what is common fills a page from them. What does not is collected from
 * all that matches, and sorted; the planner itself would hope to meet it among the newest, and walk
 * through everything where there is little.
 * @param probed how many rows are tried first
 */
export async function listTraces(
  sql: Sql,
  orgId: string,
  filter: TraceFilter,
  page: TracePage,
  probed = ROWS_PROBED,
): Promise<readonly ShownTraceRow[]> {
  const read = { orgId, filter, after: page.after }
  const source = sourceOf(sql, orgId, filter)
  const conditions = conditionsOf(sql, orgId, filter, source)
  const limit = page.limit + page.offset
  if (Object.values(conditions).every((each) => each.length === 0)) {
    return readPage(
      sql,
      orgId,
      page,
      sql`found as (${newestMatches(sql, read, source, conditions, { limit })})`,
    )
  }
  const most = { limit, probed: Math.max(probed, limit * PROBED_FOR_ONE) }
  const tried = await readPage(
    sql,
    orgId,
    page,
    sql`
    tried as materialized (${newestMatches(sql, read, source, conditions, most)}),
    seen as materialized (${probedStarts(sql, read, source, { ...most, found: 'tried' })}),
    found as (
      select * from tried where not exists (select from seen where seen.started_at >= tried.started_at))`,
  )
  if (tried.length === page.limit) return tried
  return withSettings(sql, JOINING_PARTS, (tx) =>
    readPage(tx, orgId, page, sql`found as materialized (${allMatches(tx, read)})`),
  )
}

/** How many traces match, counted no further than `limit`; null when that takes long. */
export async function countTraces(sql: Sql, orgId: string, filter: TraceFilter, limit: number) {
  const read = { orgId, filter }
  const source = sourceOf(sql, orgId, filter)
  const conditions = conditionsOf(sql, orgId, filter, source)
  const isOrdered = Object.values(conditions).every((each) => each.length === 0)
  const rows = isOrdered
    ? newestMatches(sql, read, source, conditions, { limit })
    : allMatches(sql, read)
  return countQuickly(sql, limit, sql`(${rows}) as found`)
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

/** Fewer would have more common tags collected; more would try longer for rare ones. */
const ROWS_PROBED = 8000
/** Rows that are tried at least for one of the page. */
const PROBED_FOR_ONE = 4
