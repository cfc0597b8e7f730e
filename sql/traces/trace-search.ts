import { readSearchBox } from '../../jobs/rules/traces/search-box.ts'
import type { SearchBox } from '../../jobs/rules/traces/search-box.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { isSameTrace, ofTraces } from './traces.ts'

/**
 * Indexes traces by the words of their input, output and error. One that is in the index already is left
 * out: whoever changes a trace takes it out. The caller has locked the traces.
 */
export async function indexTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const indexed = await sql<{ trace_id: string }[]>`
    select trace_id from trace_search where ${ofTraces(sql, orgId, projectId, traceIds)}`
  const there = new Set(indexed.map(({ trace_id }) => trace_id))
  const missing = traceIds.filter((id) => !there.has(id))
  if (missing.length === 0) return
  await sql`
    insert into trace_search (org_id, project_id, trace_id, period, started_at, document, has_stems)
    select org_id, project_id, trace_id, period, started_at, ${document(sql)}, true from traces
    where ${ofTraces(sql, orgId, projectId, missing)}
    on conflict (org_id, project_id, trace_id, period) do nothing`
}

/**
 * Adds the stems to at most `limit` rows that processes older than them have written, and deletes those
 * of them whose trace is gone. Returns how many rows it took.
 */
export async function addStems(sql: Queryable, limit: number) {
  const [taken] = await sql<{ n: number }[]>`
    with picked as materialized (
      select org_id, project_id, period, trace_id from trace_search
      where not has_stems limit ${limit} for update skip locked
    ), stemmed as (
      update trace_search s set document = ${document(sql)}, has_stems = true
      from picked p join traces t using (org_id, project_id, period, trace_id)
      where ${isSameTrace(sql, sql`s`, sql`p`)}
    ), gone as (
      delete from trace_search s using picked p
      where ${isSameTrace(sql, sql`s`, sql`p`)}
        and not exists (select from traces t where ${isSameTrace(sql, sql`t`, sql`p`)})
    )
    select count(*)::int as n from picked`
  return taken?.n ?? 0
}

/**
 * The condition that row `s` of `trace_search` matches what a person typed into a search box. Words are
 * compared by their stems, the beginning of one with the words as they are; so are all words where a row
 * has no stems yet.
 */
export function matchesText(sql: Queryable, typed: string) {
  const box = readSearchBox(typed)
  return sql`(s.has_stems and ${matches(sql, box, sql`'stems'`)}
    or not s.has_stems and ${matches(sql, box, sql`'simple'`)})`
}

/**
 * A short beginning is compared row by row, by a function that no index knows: the index has it as a list
 * of all words that begin so, and reads where each of them occurs. It has to be found by other words then.
 */
function matches(
  sql: Queryable,
  { text, beginning, besides, isShort }: SearchBox,
  words: Fragment,
) {
  const others = sql`websearch_to_tsquery(${words}, ${besides})`
  const query = sql`(websearch_to_tsquery(${words}, ${text})
    || (${others} && to_tsquery('simple', ${beginning})))`
  if (!isShort) return sql`s.document @@ ${query}`
  // Excluded words, and none at all, find no row.
  return sql`s.document @@ case when querytree(${others}) in ('', 'T') then ${query} else ${others} end
    and ts_match_vq(s.document, ${query})`
}

/** The document of a row of `traces`. */
function document(sql: Queryable) {
  return sql`search_document(
    concat_ws(' ', user_input_preview, final_output_preview, error_code, error_message))`
}
