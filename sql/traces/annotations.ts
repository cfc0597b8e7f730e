import type { Annotation } from '../../jobs/rules/evals/annotation.ts'
import type { Queryable } from '../core/db.ts'
import { ofTrace, ofTraces } from './traces.ts'
import type { TraceKey } from './traces.ts'

export interface AnnotationRow extends Annotation {
  id: string
  /** The API key. */
  created_by: string
  created_at: Date
}

/** The caller has locked the trace, so that it exists. */
export async function insertAnnotation(
  sql: Queryable,
  { org_id, project_id, trace_id }: TraceKey,
  { id, created_by, ...said }: Omit<AnnotationRow, 'created_at'>,
) {
  const [row] = await sql<[AnnotationRow]>`
    insert into annotations (org_id, project_id, trace_id, id, label, rating, correctness,
      error_categories, corrected_output, tags, notes, score, flagged_for_review, created_by)
    values (${org_id}, ${project_id}, ${trace_id}, ${id}, ${said.label}, ${said.rating},
      ${said.correctness}, ${said.error_categories}::text[], ${said.corrected_output},
      ${said.tags}::text[], ${said.notes}, ${said.score}, ${said.flagged_for_review},
      ${created_by})
    returning ${shownColumns(sql)}`
  return row
}

/** Newest first. */
export async function listAnnotations(sql: Queryable, key: TraceKey) {
  return sql<AnnotationRow[]>`
    select ${shownColumns(sql)} from annotations
    where ${ofTrace(sql, key)} order by created_at desc, id desc limit ${MAX_ANNOTATIONS}`
}

export async function countAnnotations(sql: Queryable, key: TraceKey) {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from annotations where ${ofTrace(sql, key)}`
  return row.n
}

/** Those of these traces whose newest annotation about review flags them for it. */
export async function listFlagged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const flagged = await sql<{ trace_id: string }[]>`
    select trace_id from (
      select distinct on (trace_id) trace_id, flagged_for_review from annotations
      where ${ofTraces(sql, orgId, projectId, traceIds)} and flagged_for_review is not null
      order by trace_id, created_at desc, id desc) as last
    where flagged_for_review`
  return new Set(flagged.map(({ trace_id }) => trace_id))
}

function shownColumns(sql: Queryable) {
  return sql`id, label, rating, correctness, error_categories, corrected_output, tags, notes,
    score, flagged_for_review, created_by, created_at`
}

/** The most annotations one trace may have; all of them are shown with it. */
export const MAX_ANNOTATIONS = 100
