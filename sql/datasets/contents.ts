import type { Queryable } from '../core/db.ts'
import type { SelectedTrace } from './passing-traces.ts'

export interface SelectedContent {
  trace_id: string
  /** That of the revision that was selected with the trace, else its own. */
  content: Buffer
  created_at: Date
  revision: number
  /** Only for traces without an LLM call. */
  user_input_preview: string | null
  final_output_preview: string | null
  /** The correction of the annotation that was selected with the trace. */
  corrected_output: string | null
}

/** In no order; those that are gone, or whose selected revision is, are missing. */
export async function listContents(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traces: readonly Pick<SelectedTrace, 'trace_id' | 'period' | 'annotation_id' | 'repair'>[],
) {
  const annotationIds = traces.flatMap(({ annotation_id }) => annotation_id ?? [])
  return sql<SelectedContent[]>`
    select t.trace_id, case when w.batch_id is null then t.content else x.content end as content,
      t.created_at, t.revision, a.corrected_output,
      case when t.llm_call_count = 0 then t.user_input_preview end as user_input_preview,
      case when t.llm_call_count = 0 then t.final_output_preview end as final_output_preview
    from unnest(${traces.map(({ trace_id }) => trace_id)}::text[],
        ${traces.map(({ period }) => period)}::date[],
        ${traces.map(({ repair }) => repair?.batch_id ?? null)}::uuid[],
        ${traces.map(({ repair }) => repair?.content_hash ?? null)}::text[])
      as w (trace_id, period, batch_id, content_hash)
    join traces t on t.org_id = ${orgId} and t.project_id = ${projectId} and t.period = w.period
      and t.trace_id = w.trace_id
    left join trace_revisions x on w.batch_id is not null and x.org_id = ${orgId}
      and x.project_id = ${projectId} and x.trace_id = w.trace_id and x.batch_id = w.batch_id
      and x.content_hash = decode(w.content_hash, 'hex')
    left join annotations a on a.org_id = t.org_id and a.project_id = t.project_id
      and a.trace_id = t.trace_id and a.id = any(${annotationIds}::uuid[])
    where w.batch_id is null or x.batch_id is not null`
}
