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
      score_fingerprint, split, shard, byte_offset, byte_length, rejected_trace_id)
    select ${orgId}, ${versionId}, ordinal, trace_id, decode(row_hash, 'hex'),
      decode(score_fingerprint, 'hex'), split, shard, byte_offset, byte_length, rejected_trace_id
    from unnest(${rows.map((row) => row.ordinal)}::bigint[], ${rows.map((row) => row.trace_id)}::text[],
      ${rows.map((row) => hex(row.row_hash))}::text[],
      ${rows.map((row) => hex(row.score_fingerprint))}::text[], ${rows.map((row) => row.split)}::text[],
      ${rows.map((row) => row.shard)}::int[], ${rows.map((row) => row.byte_offset)}::bigint[],
      ${rows.map((row) => row.byte_length)}::int[],
      ${rows.map((row) => row.rejected_trace_id)}::text[])
      as r (ordinal, trace_id, row_hash, score_fingerprint, split, shard, byte_offset, byte_length,
        rejected_trace_id)`
}

/** Deletes rows of a version that is not ready, and what was noted of their traces. */
export async function deleteRows(sql: Queryable, orgId: string, versionId: string) {
  const ofVersion = sql`org_id = ${orgId} and version_id = ${versionId}`
  await sql`delete from dataset_version_rows where ${ofVersion}`
  await sql`delete from dataset_deleted_traces where ${ofVersion}`
}

/** In their order, from an ordinal on. */
export async function listRows(
  sql: Queryable,
  orgId: string,
  versionId: string,
  page: { from: number; split?: Split | undefined; limit: number },
) {
  return sql<RowPosition[]>`
    select ordinal, trace_id, split, shard, byte_offset, byte_length from dataset_version_rows
    where org_id = ${orgId} and version_id = ${versionId} and ordinal >= ${page.from}
      ${page.split ? sql`and split = ${page.split}` : sql``}
    order by ordinal limit ${page.limit}`
}

/** Which traces gave which rows, `batch` at a time. Reads through a cursor: call it in a transaction. */
export function readRowHashes(sql: Queryable, orgId: string, versionId: string, batch: number) {
  return sql<{ trace_id: string; row_hash: Buffer }[]>`
    select trace_id, row_hash from dataset_version_rows
    where org_id = ${orgId} and version_id = ${versionId}`.cursor(batch)
}
