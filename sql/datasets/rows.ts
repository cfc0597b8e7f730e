import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Fragment, Queryable, Sql, Transaction } from '../core/db.ts'
import { distinctKeys } from '../core/distinct-keys.ts'

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
 * Deletes the rows of a version that is not ready, and what was noted of their traces.
 * @param hold what each transaction does last
 */
export async function deleteRows(
  sql: Sql,
  orgId: string,
  versionId: string,
  hold?: (tx: Transaction) => Promise<void>,
) {
  await deleteInRanges(sql, { org_id: orgId, version_id: versionId }, { hold })
}

/** What names the rows of a version. */
interface RowsKey {
  readonly org_id: string
  readonly version_id: string
}

/**
 * Versions with rows that nobody needs. Rows do not go with their version: they may be millions, and whoever
 * deletes a dataset does not wait for them. Nor do they go with a build that failed, or died before it was
 * canceled.
 */
export async function listOrphanedRows(sql: Queryable, limit: number) {
  return sql<RowsKey[]>`
    with recursive ${distinctKeys(sql, 'dataset_version_rows', 'version_id')}
    select * from distinct_keys r (org_id, version_id)
    where ${isOrphaned(sql, sql`r`)} limit ${limit}`
}

/**
 * Deletes the rows of a version that `listOrphanedRows` found, as long as they are that: a build that is tried
 * again needs its own.
 */
export async function deleteOrphanedRows(sql: Sql, rows: RowsKey, signal: AbortSignal) {
  const hold = async () => signal.throwIfAborted()
  await deleteInRanges(sql, rows, { only: sql`and ${isOrphaned(sql, sql`r`)}`, hold })
}

/** Its version is not there, was restored, which has none, or will not be ready unless its build is tried again. */
function isOrphaned(sql: Queryable, row: Fragment) {
  return sql`not exists (
    select from dataset_versions v join jobs j on j.org_id = v.org_id and j.id = v.job_id
    where v.org_id = ${row}.org_id and v.id = ${row}.version_id
      and not v.restored and (v.ready_at is not null or j.finished_at is null))`
}

/** Deletes rows in transactions of at most `DELETED_TOGETHER`, and the notes in one. */
async function deleteInRanges(
  sql: Sql,
  { org_id, version_id }: RowsKey,
  { only = sql``, hold }: DeletionOptions,
) {
  const ofVersion = sql`r.org_id = ${org_id} and r.version_id = ${version_id}`
  const [last] = await sql<{ ordinal: number }[]>`
    select ordinal from dataset_version_rows r where ${ofVersion} order by ordinal desc limit 1`
  // By ordinals, because a search for rows that are left would begin with all those that are gone.
  for (let from = 0; last && from <= last.ordinal; from += DELETED_TOGETHER) {
    await sql.begin(async (tx: Transaction) => {
      await tx`
        delete from dataset_version_rows r
        where ${ofVersion} and ordinal >= ${from} and ordinal < ${from + DELETED_TOGETHER} ${only}`
      await hold?.(tx)
    })
  }
  await sql.begin(async (tx: Transaction) => {
    await tx`delete from dataset_deleted_traces r where ${ofVersion} ${only}`
    await hold?.(tx)
  })
}

interface DeletionOptions {
  readonly only?: Fragment
  readonly hold: ((tx: Transaction) => Promise<void>) | undefined
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
