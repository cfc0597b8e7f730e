import type { Fragment, Queryable } from '../core/db.ts'

/**
 * The id of the trace that a trace replays; null when it is no replay. The trace may be gone.
 * @param trace the alias of the trace
 */
export function sourceTraceId(sql: Queryable, trace: Fragment) {
  return sql`case when ${trace}.source_type = 'replayed'
    then coalesce(${trace}.metadata ->> 'original_trace_id', ${trace}.parent_trace_id) end`
}
