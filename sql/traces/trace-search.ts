import { readSearchBox } from '../../jobs/rules/traces/search-box.ts'
import type { Queryable } from '../core/db.ts'
import { ofTraces } from './traces.ts'

/**
 * Indexes traces by the words of their input, output and error. A trace never changes, so one that is
 * in the index already is left out.
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
    insert into trace_search (org_id, project_id, trace_id, document)
    select org_id, project_id, trace_id, search_document(
      concat_ws(' ', user_input_preview, final_output_preview, error_code, error_message))
    from traces
    where ${ofTraces(sql, orgId, projectId, missing)}
    on conflict (org_id, project_id, trace_id) do nothing`
}

/**
 * The condition that trace `t` matches what a person typed into a search box. Words are compared by
 * their stems, the beginning of one with the words as they are.
 */
export function matchesText(sql: Queryable, typed: string) {
  const { text, beginning, besides } = readSearchBox(typed)
  return sql`exists (select 1 from trace_search s where s.org_id = t.org_id
    and s.project_id = t.project_id and s.trace_id = t.trace_id
    and s.document @@ (websearch_to_tsquery('stems', ${text})
      || (websearch_to_tsquery('stems', ${besides}) && to_tsquery('simple', ${beginning}))))`
}
