import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api'
import { RARE_MEMBERS } from '../../jobs/rules/datasets/formats.ts'
import { LOSSES } from '../../jobs/rules/datasets/row-writer.ts'
import type { SelectedTrace } from '../../sql/datasets/passing-traces.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { MadeRow } from './row-output.ts'
import { appendDouble, readChunks } from '../runtime/duckdb.ts'
import type { Duck } from '../runtime/duckdb.ts'
import { appendTrace, asTrace, TRACE_COLUMNS, TRACE_TABLE } from './trace-columns.ts'
import type { TraceValues } from './trace-columns.ts'

/**
 * What a build knows of its traces and rows, in DuckDB tables: they spill to disk, so that millions of
 * rows take no more memory than thousands. The index of a trace only names it: traces come in any order,
 * and where their order matters it is that of their ids, in bytes. Rows are numbered in the order they were
 * made. The queries over them are in `left-rows.ts` and `chosen-rows.ts`.
 */
export interface RowList {
  /** Adds a row of the parent version. */
  addParentRow(traceId: string, hash: Buffer): void
  /** @param splitIndex the trace's split, as an index in `SPLITS` */
  addTrace(trace: SelectedTrace, splitIndex: number): void
  addRow(row: MadeRow): void
  /** Whether any row that was added has a rare member of messages. */
  hasRareMembers(): boolean
  /** Makes what was added visible to queries. */
  flush(): void
  /** Reads the traces that are left, a chunk at a time, by id or task by task. */
  readTraces(order: 'trace_id' | 'attempted, trace_id'): AsyncGenerator<ListedTrace[]>
  readonly connection: DuckDBConnection
}

export async function openRowList(duck: Duck): Promise<RowList> {
  const [connection, reading] = [await duck.connect(), await duck.connect()]
  await connection.run(TABLES)
  const parentRows = await connection.createAppender('parent_rows')
  const traces = await connection.createAppender('traces')
  const rows = await connection.createAppender('rows')
  const redactions = await connection.createAppender('redactions')
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
      for (const [name, count] of row.redactions) {
        redactions.appendInteger(rowCount)
        redactions.appendVarchar(name)
        redactions.appendInteger(count)
        redactions.endRow()
      }
      appendRow(rows, rowCount++, row)
    },
    hasRareMembers: () => hasRareMembers,
    flush() {
      parentRows.flushSync()
      traces.flushSync()
      rows.flushSync()
      redactions.flushSync()
    },
    async *readTraces(order) {
      const query = `select ${TRACE_COLUMNS} from traces order by ${order}`
      for await (const chunk of readChunks<TraceValues>(reading, query)) yield chunk.map(asTrace)
    },
  }
}

function appendRow(to: DuckDBAppender, index: number, row: MadeRow) {
  to.appendInteger(index)
  to.appendInteger(row.traceIndex)
  if (row.rejectedIndex === null) to.appendNull()
  else to.appendInteger(row.rejectedIndex)
  to.appendBlob(row.hash)
  to.appendUTinyInt(row.splitIndex)
  appendDouble(to, row.lengthRatio)
  to.appendInteger(row.tokens)
  to.appendInteger(row.messages)
  if (row.spanId === null) to.appendNull()
  else to.appendVarchar(row.spanId)
  to.appendInteger(row.shard)
  to.appendBigInt(BigInt(row.byteOffset))
  to.appendInteger(row.length)
  for (const member of RARE_MEMBERS) to.appendBoolean(row.rareMembers[member])
  for (const loss of LOSSES) to.appendInteger(row.losses[loss])
  to.endRow()
}

/**
 * `gone` lists the rows that do not stay. `near` has the rows that are near-duplicates of better ones, and
 * for which of these one was left out. `chosen` has those that do, in their order: where they were
 * made, and where they stand in the files that hold nothing else.
 */
const TABLES = `
  create table parent_rows (trace_id varchar, hash blob);
  create table traces (${TRACE_TABLE});
  create table rows (
    index integer, trace_index integer, rejected_index integer, hash blob, split_index utinyint,
    length_ratio double, tokens integer, messages integer, span_id varchar, shard integer, byte_offset bigint, length integer,
    ${RARE_MEMBERS.map((name) => `${name} boolean`).join(', ')},
    ${LOSSES.map((name) => `${name} integer`).join(', ')});
  create table redactions (index integer, class varchar, count integer);
  create table gone (index integer);
  create table near (index integer, better integer, equal_bins utinyint, replaces boolean);
  create view left_rows as select * from rows anti join gone using (index);
  create table chosen (
    ordinal bigint, index integer, trace_index integer, rejected_index integer, hash blob,
    split_index utinyint, tokens integer, messages integer, span_id varchar, made_shard integer, made_offset bigint, length integer,
    shard bigint, byte_offset bigint);`
