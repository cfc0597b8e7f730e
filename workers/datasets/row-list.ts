import type {
  DuckDBAppender,
  DuckDBBlobValue,
  DuckDBConnection,
  DuckDBValue,
} from '@duckdb/node-api'
import { trainingJson } from '../../jobs/rules/dataset-json.ts'
import type { Candidate } from '../../jobs/rules/dataset-rows.ts'
import type { SelectedTrace } from '../../sql/dataset-selection.ts'
import type { ListedTrace, MadeRow } from './batch-maker.ts'
import { readChunks } from './duckdb.ts'
import type { Duck } from './duckdb.ts'

/**
 * What a build knows of its traces and rows, in DuckDB tables: they spill to disk, so that millions of
 * rows take no more memory than thousands. Traces are numbered in the order of their ids, rows in the
 * order they were made.
 */
export interface RowList {
  /** A row of the version before. */
  addParentRow(traceId: string, hash: Buffer): void
  addTrace(trace: SelectedTrace, side: number): void
  addRow(row: ListedRow): void
  /** Makes what was added visible to queries. */
  flush(): void
  /** The traces in use, a chunk at a time, by number or task by task. */
  readTraces(order: 'no' | 'task_id, no'): AsyncGenerator<ListedTrace[]>
  readonly connection: DuckDBConnection
}

export type ListedRow = MadeRow & {
  /** Where its line stands in the files of its split. */
  readonly shard: number
  readonly place: number
}

export async function openRowList(duck: Duck): Promise<RowList> {
  const [connection, reading] = [await duck.connect(), await duck.connect()]
  await connection.run(TABLES)
  const parentRows = await connection.createAppender('parent_rows')
  const traces = await connection.createAppender('traces')
  const rows = await connection.createAppender('rows')
  let traceCount = 0
  let rowCount = 0
  return {
    connection,
    addParentRow(traceId, hash) {
      parentRows.appendVarchar(traceId)
      parentRows.appendBlob(hash)
      parentRows.endRow()
    },
    addTrace(trace, side) {
      appendTrace(traces, traceCount++, trace, side)
    },
    addRow(row) {
      appendRow(rows, rowCount++, row)
    },
    flush() {
      parentRows.flushSync()
      traces.flushSync()
      rows.flushSync()
    },
    async *readTraces(order) {
      const query = `select ${TRACE_COLUMNS} from traces order by ${order}`
      for await (const chunk of readChunks(reading, query)) yield chunk.map(asTrace)
    },
  }
}

/** The bytes of a BLOB. */
export function bytesOf(value: DuckDBValue | undefined): Uint8Array {
  return (value as DuckDBBlobValue).bytes
}

function appendTrace(to: DuckDBAppender, no: number, trace: SelectedTrace, side: number) {
  to.appendInteger(no)
  for (const name of TEXTS) appendText(to, trace[name])
  appendText(to, trainingJson(trace.scores) ?? null)
  appendDouble(to, trace.quality)
  to.appendBlob(trace.score_fingerprint)
  to.appendInteger(trace.policy_version)
  to.appendUTinyInt(side)
  to.appendInteger(trace.content_bytes)
  to.appendDouble(trace.created_at.getTime())
  to.endRow()
}

function appendRow(to: DuckDBAppender, no: number, row: ListedRow) {
  to.appendInteger(no)
  to.appendInteger(row.traceNo)
  if (row.rejectedNo === null) to.appendNull()
  else to.appendInteger(row.rejectedNo)
  to.appendBlob(row.hash)
  to.appendUTinyInt(row.side)
  appendDouble(to, row.lengthRatio)
  to.appendInteger(row.tokens)
  to.appendInteger(row.shard)
  to.appendBigInt(BigInt(row.place))
  to.appendInteger(row.length)
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

function asTrace(values: DuckDBValue[]): ListedTrace {
  const [no, quality, scores, side, content_bytes, created, ...texts] = values
  const named = Object.fromEntries(CANDIDATE_TEXTS.map((name, i) => [name, texts[i]]))
  return {
    ...(named as unknown as ListedTrace),
    no: no as number,
    quality: quality as number | null,
    scores: JSON.parse(scores as string) as Record<string, number>,
    side: side as number,
    content_bytes: content_bytes as number,
    created_at: new Date(created as number),
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
] as const satisfies readonly (keyof Candidate)[]
const TEXTS = [...CANDIDATE_TEXTS, 'manifest_id', 'parent_trace_id', 'policy_agent_name'] as const
const TRACE_COLUMNS = `no, quality, scores, side, content_bytes, created_ms, ${CANDIDATE_TEXTS.join(', ')}`

const TABLES = `
  create table parent_rows (trace_id varchar, hash blob);
  create table traces (
    no integer, ${TEXTS.map((name) => `${name} varchar`).join(', ')}, scores varchar, quality double,
    score_fingerprint blob, policy_version integer, side utinyint,
    content_bytes integer, created_ms double);
  create table rows (
    no integer, trace_no integer, rejected_no integer, hash blob, side utinyint, length_ratio double,
    tokens integer, shard integer, place bigint, length integer);
  create table gone (no integer);
  create view left_rows as select * from rows anti join gone using (no);`
