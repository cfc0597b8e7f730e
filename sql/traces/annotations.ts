import type { Annotation } from '../../jobs/rules/evals/annotation.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { storableText } from '../core/db.ts'
import { aboutTrace, aboutTraces } from './traces.ts'
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
      error_categories, corrected_output, correction_withdrawn, tags, notes, score,
      flagged_for_review, created_by)
    values (${org_id}, ${project_id}, ${trace_id}, ${id}, ${said.label}, ${said.rating},
      ${said.correctness}, ${said.error_categories}::text[], ${said.corrected_output},
      ${said.correction_withdrawn}, ${said.tags}::text[], ${said.notes}, ${said.score},
      ${said.flagged_for_review}, ${created_by})
    returning ${shownColumns(sql)}`
  return row
}

/** An answer as it should have been, that a person gave elsewhere. */
export interface CorrectionRow {
  trace_id: string
  /** The same whenever it is imported. */
  id: string
  corrected_output: string
  created_by: string
  created_at: Date
}

/**
 * Inserts corrections as annotations, those that are not there yet, and no more of a trace than it may
 * have. The caller has locked the traces, so that they exist. Returns the traces of those inserted.
 */
export async function insertCorrections(
  sql: Queryable,
  orgId: string,
  projectId: string,
  rows: readonly CorrectionRow[],
) {
  if (rows.length === 0) return []
  const inserted = await sql<{ trace_id: string }[]>`
    insert into annotations (org_id, project_id, trace_id, id, corrected_output, created_by, created_at,
      error_categories, tags)
    select ${orgId}, ${projectId}, trace_id, id, corrected_output, created_by, created_at, '{}', '{}'
    from (
      select c.*, row_number() over (partition by trace_id order by created_at, id) + (
          select count(*) from annotations a
          where a.org_id = ${orgId} and a.project_id = ${projectId} and a.trace_id = c.trace_id) as n
      from unnest(${rows.map(({ trace_id }) => trace_id)}::text[],
        ${rows.map(({ id }) => id)}::uuid[],
        ${rows.map(({ corrected_output }) => storableText(corrected_output))}::text[],
        ${rows.map(({ created_by }) => created_by)}::uuid[],
        ${rows.map(({ created_at }) => created_at.toISOString())}::timestamptz[])
        as c (trace_id, id, corrected_output, created_by, created_at)
      where not exists (
        select from annotations a
        where a.org_id = ${orgId} and a.project_id = ${projectId} and a.trace_id = c.trace_id
          and a.id = c.id)) as new
    where n <= ${MAX_ANNOTATIONS}
    on conflict (org_id, project_id, trace_id, id) do nothing
    returning trace_id`
  return inserted.map(({ trace_id }) => trace_id)
}

/** Newest first. */
export async function listAnnotations(sql: Queryable, key: TraceKey) {
  return sql<AnnotationRow[]>`
    select ${shownColumns(sql)} from annotations
    where ${aboutTrace(sql, key)} order by created_at desc, id desc limit ${MAX_ANNOTATIONS}`
}

export async function countAnnotations(sql: Queryable, key: TraceKey) {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from annotations where ${aboutTrace(sql, key)}`
  return row.n
}

/** Of these traces those that a person corrected, with the annotation whose correction holds. */
export async function listCorrected(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<{ trace_id: string; id: string }[]>`
    select trace_id, id from (${newestCorrections(sql, aboutTraces(sql, orgId, projectId, traceIds))}) as c`
}

/**
 * The query for `trace_id, id, bytes` of the corrections that hold: the newest annotation of each trace
 * that gives a correction or takes one back, where it gives one.
 * @param condition which annotations are looked at
 */
export function newestCorrections(sql: Queryable, condition: Fragment) {
  return sql`
    select trace_id, id, bytes from (
      select distinct on (trace_id) trace_id, id, octet_length(corrected_output) as bytes
      from annotations
      where ${condition} and (corrected_output is not null or correction_withdrawn)
      order by trace_id, created_at desc, id desc) as spoken
    where bytes is not null`
}

/** What the newest annotation about review of each of these traces says, by trace id: that it needs one or not. */
export async function listFlagged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const spoken = await sql<{ trace_id: string; flagged_for_review: boolean }[]>`
    select distinct on (trace_id) trace_id, flagged_for_review from annotations
    where ${aboutTraces(sql, orgId, projectId, traceIds)} and flagged_for_review is not null
    order by trace_id, created_at desc, id desc`
  return new Map(spoken.map(({ trace_id, flagged_for_review }) => [trace_id, flagged_for_review]))
}

function shownColumns(sql: Queryable) {
  return sql`id, label, rating, correctness, error_categories, corrected_output,
    correction_withdrawn, tags, notes, score, flagged_for_review, created_by, created_at`
}

/** The most annotations one trace may have; all of them are shown with it. */
export const MAX_ANNOTATIONS = 100
