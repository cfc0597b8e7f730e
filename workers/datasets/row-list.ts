import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import { RARE_MEMBERS } from '../../jobs/rules/datasets/formats.ts'
import { LOSSES } from '../../jobs/rules/datasets/rows.ts'
import { trainingJson } from '../../jobs/rules/core/training-json.ts'
import type { Candidate } from '../../jobs/rules/datasets/rows.ts'
import type { SelectedTrace } from '../../sql/datasets/selection.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { MadeRow } from './row-output.ts'
import { readChunks } from './duckdb.ts'
import type { Duck } from './duckdb.ts'

/**
 * What a build knows of its traces and rows, in DuckDB tables: they spill to disk, so that millions of
 * rows take no more memory than thousands. Traces are numbered in the order of their ids, rows in the
 * order they were made. The queries over them are in `left-rows.ts` and `chosen-rows.ts`.
 */
export interface RowList {
  /** Adds a row of the parent version. */
  addParentRow(traceId: string, hash: Buffer): void
  /** @param splitIndex the trace's split, as an index in `SPLITS` */
  addTrace(trace: SelectedTrace, splitIndex: number): void
  addRow(row: ListedRow): void
  /** Whether any row that was added has a rare member of messages. */
  hasRareMembers(): boolean
  /** Makes what was added visible to queries. */
  flush(): void
  /** Reads the traces that are left, a chunk at a time, by index or task by task. */
  readTraces(order: 'index' | 'task_id, index'): AsyncGenerator<ListedTrace[]>
  readonly connection: DuckDBConnection
}

export type ListedRow = MadeRow & {
  /** The number of its file among those of its split, and where its line begins in it. */
  readonly shard: number
  readonly byteOffset: number
}

export async function openRowList(duck: Duck): Promise<RowList> {
  const [connection, reading] = [await duck.connect(), await duck.connect()]
  await connection.run(TABLES)
  const parentRows = await connection.createAppender('parent_rows')
  const traces = await connection.createAppender('traces')
  const rows = await connection.createAppender('rows')
  let traceCount = 0
  let rowCount = 0
  let hasRareMembers = false
  return {
    connection,
    addParentRow(traceId, hash) {
      parentRows.appendVarchar(traceId)
      parentRows.appendBlob(hash)
      parentRows.endRow()
    },
    addTrace(trace, splitIndex) {
      appendTrace(traces, traceCount++, trace, splitIndex)
    },
    addRow(row) {
      hasRareMembers ||= RARE_MEMBERS.some((member) => row.rareMembers[member])
      appendRow(rows, rowCount++, row)
    },
    hasRareMembers: () => hasRareMembers,
    flush() {
      parentRows.flushSync()
      traces.flushSync()
      rows.flushSync()
    },
    async *readTraces(order) {
      const query = `select ${TRACE_COLUMNS} from traces order by ${order}`
      for await (const chunk of readChunks<TraceValues>(reading, query)) yield chunk.map(asTrace)
    },
  }
}

function appendTrace(to: DuckDBAppender, index: number, trace: SelectedTrace, splitIndex: number) {
  to.appendInteger(index)
  for (const name of TEXTS) appendText(to, trace[name])
  appendText(to, trainingJson(trace.scores) ?? null)
  if (trace.preferred === null) to.appendNull()
  else to.appendBoolean(trace.preferred)
  appendDouble(to, trace.quality)
  to.appendBlob(trace.score_fingerprint)
  to.appendInteger(trace.policy_version)
  to.appendUTinyInt(splitIndex)
  to.appendInteger(trace.content_bytes)
  to.appendDouble(trace.created_at.getTime())
  to.endRow()
}

function appendRow(to: DuckDBAppender, index: number, row: ListedRow) {
  to.appendInteger(index)
  to.appendInteger(row.traceIndex)
  if (row.rejectedIndex === null) to.appendNull()
  else to.appendInteger(row.rejectedIndex)
  to.appendBlob(row.hash)
  to.appendUTinyInt(row.splitIndex)
  appendDouble(to, row.lengthRatio)
  to.appendInteger(row.tokens)
  to.appendInteger(row.shard)
  to.appendBigInt(BigInt(row.byteOffset))
  to.appendInteger(row.length)
  for (const member of RARE_MEMBERS) to.appendBoolean(row.rareMembers[member])
  for (const loss of LOSSES) to.appendInteger(row.losses[loss])
  to.endRow()
}

function appendText(to: DuckDBAppender, text: string | null) {
  if (text === null) to.appendNull()
  else to.appendVarchar(text)
}

function appendDouble(to: DuckDBAppender, value: number | null) {
  if (value === null) to.appendNull()
  else to.appendDouble(value)
}

function asTrace(values: TraceValues): ListedTrace {
  const [index, quality, scores, preferred, splitIndex, content_bytes, created, ...texts] = values
  const [trace_id, agent_name, manifest_hash, task_id, session_id, ...others] = texts
  const [verdict, eval_verdict, reason, annotation_id, ...related] = others
  const [manifest_id, parent_trace_id, pair_id] = related
  return {
    index,
    trace_id,
    agent_name,
    manifest_hash,
    task_id,
    session_id,
    verdict,
    eval_verdict,
    reason,
    annotation_id,
    manifest_id,
    parent_trace_id,
    preferred,
    pair_id,
    quality,
    scores: JSON.parse(scores),
    splitIndex,
    content_bytes,
    created_at: new Date(created),
  }
}

const CANDIDATE_TEXTS = [
  'trace_id',
  'agent_name',
  'manifest_hash',
  'task_id',
  'session_id',
  'verdict',
  'eval_verdict',
  'reason',
  'annotation_id',
  'manifest_id',
  'parent_trace_id',
  'pair_id',
] as const satisfies readonly (keyof Candidate)[]
const TEXTS = [...CANDIDATE_TEXTS, 'policy_agent_name'] as const
const TRACE_COLUMNS = `index, quality, scores, preferred, split_index, content_bytes, created_ms,
  ${CANDIDATE_TEXTS.join(', ')}`

/**
 * `gone` lists the rows that do not stay. `chosen` has those that do, in their order: where they were
 * made, and where they stand in the files that hold nothing else.
 */
const TABLES = `
  create table parent_rows (trace_id varchar, hash blob);
  create table traces (
    index integer, ${TEXTS.map((name) => `${name} varchar`).join(', ')}, scores varchar,
    preferred boolean, quality double, score_fingerprint blob, policy_version integer, split_index utinyint,
    content_bytes integer, created_ms double);
  create table rows (
    index integer, trace_index integer, rejected_index integer, hash blob, split_index utinyint,
    length_ratio double, tokens integer, shard integer, byte_offset bigint, length integer,
    ${RARE_MEMBERS.map((name) => `${name} boolean`).join(', ')},
    ${LOSSES.map((name) => `${name} integer`).join(', ')});
  create table gone (index integer);
  create view left_rows as select * from rows anti join gone using (index);
  create table chosen (
    ordinal bigint, index integer, trace_index integer, rejected_index integer, hash blob,
    split_index utinyint, tokens integer, made_shard integer, made_offset bigint, length integer,
    shard bigint, byte_offset bigint);`

/** The values of `TRACE_COLUMNS`. */
type TraceValues = [
  index: number,
  quality: number | null,
  scores: string,
  preferred: boolean | null,
  splitIndex: number,
  content_bytes: number,
  created_ms: number,
  ...texts: TextValues<typeof CANDIDATE_TEXTS>,
]
type TextValues<Names extends readonly (keyof Candidate)[]> = {
  -readonly [I in keyof Names]: Candidate[Names[I]]
}
