import { copyRows, openRowWriter } from '../core/copy-rows.ts'
import type { CopyRows } from '../core/copy-rows.ts'
import { jsonText, onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { distinctKeys } from '../core/distinct-keys.ts'
import { isLeft } from './imports.ts'

/** What names an import. */
export interface ImportKey {
  readonly orgId: string
  readonly importId: string
}

/** The parts of one trace in one chunk of a file, or scores there that name only a span. */
export interface PartsRow {
  /** '' while it is not known. */
  readonly trace_id: string
  /** '' unless only the span was named. */
  readonly span_id: string
  /** Of the parts as JSON. */
  readonly bytes: number
  readonly part_count: number
  /** A JSON list of the parts, boxed. */
  readonly content: Uint8Array
}

/** A trace of which a chunk has parts. */
export interface PiecedTrace {
  readonly trace_id: string
  readonly first_line: number
  /** Whether the project has it. */
  readonly is_known: boolean
}

/** A trace that is to be put together, with the size of what there is of it. */
export interface StagedTrace extends PiecedTrace {
  /** Of its parts as JSON. */
  readonly bytes: number
  readonly part_count: number
}

/** What is staged of a chunk. */
export interface StagedChunk {
  readonly chunkNo: number
  readonly traces: readonly PiecedTrace[]
  /** Of `encodeParts`. */
  readonly rows: CopyRows
  /** A JSON list of [trace id, ids of its spans], boxed. */
  readonly spans: Uint8Array
}

/** The place of a trace in the order in which traces are put together. */
export type TracePlace = Pick<PiecedTrace, 'first_line' | 'trace_id'>

/** Encodes parts for `stageParts`. Apart from it, so that another thread can do it. */
export function encodeParts(
  { orgId, importId }: ImportKey,
  chunkNo: number,
  rows: Iterable<PartsRow>,
): CopyRows {
  const writer = openRowWriter()
  for (const row of rows) {
    writer.row([
      ['uuid', orgId],
      ['uuid', importId],
      ['text', row.trace_id],
      ['text', row.span_id],
      ['int4', chunkNo],
      ['int4', row.bytes],
      ['int4', row.part_count],
      ['bytea', row.content],
    ])
  }
  return writer.take()
}

/** Keeps the parts of a chunk until their traces are put together. A trace keeps the first line it had. */
export async function stageParts(
  tx: Transaction,
  { orgId, importId }: ImportKey,
  { chunkNo, traces, rows, spans }: StagedChunk,
) {
  await stageChunk(tx, { orgId, importId }, chunkNo, spans)
  await tx`
    insert into import_traces (org_id, import_id, trace_id, first_line, is_known)
    select ${orgId}, ${importId}, trace_id, first_line, is_known
    from unnest(${traces.map(({ trace_id }) => trace_id)}::text[],
      ${traces.map(({ first_line }) => first_line)}::bigint[],
      ${traces.map(({ is_known }) => String(is_known))}::text[]::boolean[]) as t (trace_id, first_line, is_known)
    on conflict (org_id, import_id, trace_id) do nothing`
  if (rows.ends.length > 0) await copyRows(tx, 'import_parts', COLUMNS, rows, 0, rows.ends.length)
}

/** Keeps what is still to be done with what a chunk has brought. @param spans a JSON list, boxed */
export async function stageChunk(
  tx: Transaction,
  { orgId, importId }: ImportKey,
  chunkNo: number,
  spans: Uint8Array,
) {
  await tx`
    insert into import_chunks (org_id, import_id, chunk_no, spans)
    values (${orgId}, ${importId}, ${chunkNo}, ${spans})`
}

/** Traces by (first_line, trace_id), those behind a place. */
export async function listStagedTraces(
  sql: Queryable,
  { orgId, importId }: ImportKey,
  after: TracePlace | undefined,
  limit: number,
) {
  return sql<StagedTrace[]>`
    select t.trace_id, t.first_line, t.is_known, p.bytes, p.part_count
    from (
      select trace_id, first_line, is_known from import_traces
      where org_id = ${orgId} and import_id = ${importId}
        and (first_line, trace_id) > (${after?.first_line ?? 0}, ${after?.trace_id ?? ''})
      order by first_line, trace_id limit ${limit}) as t,
      lateral (
        select coalesce(sum(bytes), 0)::float8 as bytes, coalesce(sum(part_count), 0)::int as part_count
        from import_parts
        where org_id = ${orgId} and import_id = ${importId} and trace_id = t.trace_id) as p
    order by t.first_line, t.trace_id`
}

/** Whether anything is staged of an import. */
export async function hasParts(sql: Queryable, { orgId, importId }: ImportKey) {
  const rows = await sql`
    select 1 from import_chunks where org_id = ${orgId} and import_id = ${importId} limit 1`
  return rows.length > 0
}

export async function countStagedTraces(sql: Queryable, { orgId, importId }: ImportKey) {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from import_traces
    where org_id = ${orgId} and import_id = ${importId}`
  return row.n
}

/** The contents of the parts of these traces, in the order of the file. */
export async function listParts(
  sql: Queryable,
  { orgId, importId }: ImportKey,
  traceIds: readonly string[],
) {
  return sql<{ trace_id: string; content: Buffer }[]>`
    select trace_id, content from import_parts
    where org_id = ${orgId} and import_id = ${importId} and trace_id = any(${traceIds}::text[])
    order by trace_id, chunk_no, span_id`
}

/** The spans of the next chunk behind one, boxed; undefined when there is none. */
export async function findNextChunk(
  sql: Queryable,
  { orgId, importId }: ImportKey,
  after: number,
): Promise<{ chunk_no: number; spans: Buffer } | undefined> {
  const [row] = await sql<{ chunk_no: number; spans: Buffer }[]>`
    select chunk_no, spans from import_chunks
    where org_id = ${orgId} and import_id = ${importId} and chunk_no > ${after}
    order by chunk_no limit 1`
  return row
}

/** Makes scores that name only a span parts of its trace. @param traceOf trace by span */
export async function placeSpanScores(
  tx: Transaction,
  { orgId, importId }: ImportKey,
  traceOf: ReadonlyMap<string, string>,
) {
  // No join: a plan made of no statistics may compare each score with each span.
  await tx`
    update import_parts set trace_id = ${jsonText(Object.fromEntries(traceOf))}::text::jsonb ->> span_id
    where org_id = ${orgId} and import_id = ${importId} and trace_id = ''
      and span_id = any(${[...traceOf.keys()]}::text[])`
}

/** How many scores name only a span, and no trace of it was found. */
export async function countUnplacedScores(sql: Queryable, { orgId, importId }: ImportKey) {
  const { n } = onlyRow(
    await sql<[{ n: number }]>`
      select coalesce(sum(part_count), 0)::float8 as n from import_parts
      where org_id = ${orgId} and import_id = ${importId} and trace_id = ''`,
  )
  return n
}

/** Deletes at most `limit` rows of what an import has staged; how many there were. */
export async function deleteParts(
  sql: Queryable,
  { orgId, importId }: ImportKey,
  limit: number,
): Promise<number> {
  for (const [table, ...order] of STAGING) {
    const isOfImport = sql`org_id = ${orgId} and import_id = ${importId}`
    // By place: a plan made of no statistics may compare each key with each. In the order of the key:
    // reading the table instead would begin with all that was deleted before.
    const deleted = await sql`
      delete from ${sql(table)} where ${isOfImport} and ctid = any(array(
        select ctid from ${sql(table)} where ${isOfImport} order by ${sql(order)} limit ${limit}))`
    if (deleted.count > 0) return deleted.count
  }
  return 0
}

/**
 * Ends an import that has staged what nobody will put together, before that is deleted: whoever retries it
 * is told.
 * @returns false when it was retried meanwhile and needs what is staged
 */
export async function endLeftImport(
  sql: Queryable,
  { orgId, importId }: ImportKey,
  fault: { readonly code: string; readonly message: string },
) {
  const ended = await sql`
    update jobs j set checkpoint = jsonb_set(j.checkpoint, '{end}', ${jsonText({ fault })}::text::jsonb)
    from imports i
    where i.org_id = ${orgId} and i.id = ${importId} and j.org_id = i.org_id and j.id = i.job_id
      and ${isLeft(sql)}`
  return ended.count === 1
}

/**
 * Imports that have staged parts which nobody will put together: they ended, or failed and were not
 * retried for a week.
 */
export async function listLeftStaging(sql: Queryable, limit: number) {
  return sql<{ org_id: string; import_id: string }[]>`
    with recursive ${distinctKeys(sql, 'import_chunks', 'import_id')}
    select s.org_id, s.id as import_id from distinct_keys s
    left join imports i on i.org_id = s.org_id and i.id = s.id
    left join jobs j on j.org_id = i.org_id and j.id = i.job_id
    where j.id is null or ${isLeft(sql)}
    limit ${limit}`
}

/** The tables with the rest of their keys; the last one tells that an import has staged something. */
const STAGING = [
  ['import_parts', 'trace_id', 'span_id', 'chunk_no'],
  ['import_traces', 'trace_id'],
  ['import_chunks', 'chunk_no'],
] as const
const COLUMNS = [
  'org_id',
  'import_id',
  'trace_id',
  'span_id',
  'chunk_no',
  'bytes',
  'part_count',
  'content',
]
