import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable, Sql, Transaction } from '../core/db.ts'

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

/**
 * Deletes the rows of a version that is not ready or not there any more, and what was noted of their traces, in
 * transactions of at most `DELETED_TOGETHER` rows and one for the notes.
 * @param hold what each transaction does last
 */
export async function deleteRows(
  sql: Sql,
  orgId: string,
  versionId: string,
  hold: (tx: Transaction) => Promise<void> = async () => {},
) {
  const ofVersion = sql`org_id = ${orgId} and version_id = ${versionId}`
  const [last] = await sql<{ ordinal: number }[]>`
    select ordinal from dataset_version_rows where ${ofVersion} order by ordinal desc limit 1`
  // By ordinals, because a search for rows that are left would begin with all those that are gone.
  for (let from = 0; last && from <= last.ordinal; from += DELETED_TOGETHER) {
    await sql.begin(async (tx: Transaction) => {
      await tx`
        delete from dataset_version_rows
        where ${ofVersion} and ordinal >= ${from} and ordinal < ${from + DELETED_TOGETHER}`
      await hold(tx)
    })
  }
  await sql.begin(async (tx: Transaction) => {
    await tx`delete from dataset_deleted_traces where ${ofVersion}`
    await hold(tx)
  })
}

/**
 * Versions that are not there any more but for their rows, which do not go with them: they may be millions, and
 * whoever deletes a dataset does not wait for them.
 */
export async function listOrphanedRows(sql: Queryable, limit: number) {
  return sql<{ org_id: string; version_id: string }[]>`
    with recursive having_rows as (
      (select org_id, version_id from dataset_version_rows order by org_id, version_id limit 1)
      union all
      select n.org_id, n.version_id from having_rows h, lateral (
        select org_id, version_id from dataset_version_rows r
        where (r.org_id, r.version_id) > (h.org_id, h.version_id)
        order by r.org_id, r.version_id limit 1) as n)
    select org_id, version_id from having_rows h
    where not exists (
      select from dataset_versions v where v.org_id = h.org_id and v.id = h.version_id)
    limit ${limit}`
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

/** Some tenths of a second's work. */
const DELETED_TOGETHER = 50_000
const MAX_INT = 2 ** 31 - 1
