import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'

/** A row of a version and where it stands in the JSONL file of its split and shard. */
export interface RowPosition {
  ordinal: number
  trace_id: string
  split: Split
  shard: number
  byte_offset: number
  byte_length: number
  /** These three are null in versions that the release before built. */
  tokens: number | null
  messages: number | null
  /** Also null where the call that gave the row has no span. */
  span_id: string | null
}

export type NewRow = RowPosition & {
  row_hash: Uint8Array
  score_fingerprint: Uint8Array
  /** Of a pair. */
  rejected_trace_id: string | null
}

export async function insertRows(
  sql: Queryable,
  orgId: string,
  versionId: string,
  rows: readonly NewRow[],
) {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  await sql`
    insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
      score_fingerprint, split, shard, byte_offset, byte_length, rejected_trace_id, tokens, messages,
      span_id)
    select ${orgId}, ${versionId}, ordinal, trace_id, decode(row_hash, 'hex'),
      decode(score_fingerprint, 'hex'), split, shard, byte_offset, byte_length, rejected_trace_id, tokens,
      messages, span_id
    from unnest(${rows.map((row) => row.ordinal)}::bigint[], ${rows.map((row) => row.trace_id)}::text[],
      ${rows.map((row) => hex(row.row_hash))}::text[],
      ${rows.map((row) => hex(row.score_fingerprint))}::text[], ${rows.map((row) => row.split)}::text[],
      ${rows.map((row) => row.shard)}::int[], ${rows.map((row) => row.byte_offset)}::bigint[],
      ${rows.map((row) => row.byte_length)}::int[],
      ${rows.map((row) => row.rejected_trace_id)}::text[],
      ${rows.map((row) => row.tokens)}::int[], ${rows.map((row) => row.messages)}::int[],
      ${rows.map((row) => row.span_id)}::text[])
      as r (ordinal, trace_id, row_hash, score_fingerprint, split, shard, byte_offset, byte_length,
        rejected_trace_id, tokens, messages, span_id)`
}

/** Deletes rows of a version that is not ready, and what was noted of their traces. */
export async function deleteRows(sql: Queryable, orgId: string, versionId: string) {
  const ofVersion = sql`org_id = ${orgId} and version_id = ${versionId}`
  await sql`delete from dataset_version_rows where ${ofVersion}`
  await sql`delete from dataset_deleted_traces where ${ofVersion}`
}

/** Rows from an ordinal on and before another, in their order, of the lengths asked for. */
export async function listRows(
  sql: Queryable,
  orgId: string,
  versionId: string,
  { from, until, lengths, limit }: RowPage,
) {
  return sql<RowPosition[]>`
    select ordinal, trace_id, split, shard, byte_offset, byte_length, tokens, messages, span_id
    from dataset_version_rows
    where org_id = ${orgId} and version_id = ${versionId} and ordinal >= ${from} and ordinal < ${until}
      ${between('tokens', lengths.min_tokens, lengths.max_tokens)}
      ${between('messages', lengths.min_messages, lengths.max_messages)}
    order by ordinal limit ${limit}`

  function between(column: string, least?: number, most?: number) {
    if (least === undefined && most === undefined) return sql``
    return sql`and ${sql(column)} between ${least ?? 0} and ${most ?? MAX_INT}`
  }
}

export interface RowPage {
  readonly from: number
  readonly until: number
  readonly lengths: LengthFilter
  readonly limit: number
}

/** Both bounds are included. */
export interface LengthFilter {
  readonly min_tokens?: number | undefined
  readonly max_tokens?: number | undefined
  readonly min_messages?: number | undefined
  readonly max_messages?: number | undefined
}

/** Which traces gave which rows, `batch` at a time. Reads through a cursor: call it in a transaction. */
export function readRowHashes(sql: Queryable, orgId: string, versionId: string, batch: number) {
  return sql<{ trace_id: string; row_hash: Buffer }[]>`
    select trace_id, row_hash from dataset_version_rows
    where org_id = ${orgId} and version_id = ${versionId}`.cursor(batch)
}

const MAX_INT = 2 ** 31 - 1
