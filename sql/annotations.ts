import type { Annotation } from '../jobs/rules/annotation.ts'
import type { Queryable } from './db.ts'
import type { TraceKey } from './traces.ts'

export interface AnnotationRow extends Annotation {
  id: string
  /** The API key. */
  created_by: string
  created_at: Date
}

/** The trace must be there: lock it before. */
export async function insertAnnotation(
  sql: Queryable,
  { org_id, project_id, trace_id }: TraceKey,
  { id, created_by, ...said }: Omit<AnnotationRow, 'created_at'>,
) {
  const [row] = await sql<[AnnotationRow]>`
    insert into annotations (org_id, project_id, trace_id, id, label, rating, correctness,
      error_categories, corrected_output, tags, notes, score, flagged_for_review, created_by)
    values (${org_id}, ${project_id}, ${trace_id}, ${id}, ${said.label}, ${said.rating},
      ${said.correctness}, ${said.error_categories as string[]}::text[], ${said.corrected_output},
      ${said.tags as string[]}::text[], ${said.notes}, ${said.score}, ${said.flagged_for_review},
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

/** Of these traces those that were flagged for review last, when anything was said of that. */
export async function listFlagged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from (
      select distinct on (trace_id) trace_id, flagged_for_review from annotations
      where org_id = ${orgId} and project_id = ${projectId}
        and trace_id = any(${traceIds as string[]}::text[]) and flagged_for_review is not null
      order by trace_id, created_at desc, id desc) as last
    where flagged_for_review`
  return new Set(rows.map(({ trace_id }) => trace_id))
}

function ofTrace(sql: Queryable, { org_id, project_id, trace_id }: TraceKey) {
  return sql`org_id = ${org_id} and project_id = ${project_id} and trace_id = ${trace_id}`
}

function shownColumns(sql: Queryable) {
  return sql`id, label, rating, correctness, error_categories, corrected_output, tags, notes,
    score, flagged_for_review, created_by, created_at`
}

/** Of one trace, all of which are shown with it. */
export const MAX_ANNOTATIONS = 100
