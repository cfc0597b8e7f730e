import { hash } from 'node:crypto'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import { openContentHash } from '../../jobs/rules/datasets/rows.ts'
import { insertRows } from '../../sql/datasets/rows.ts'
import type { NewRow } from '../../sql/datasets/rows.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import type { Run } from '../runtime/handler.ts'
import { buildProgress } from './build-progress.ts'
import type { RowList } from './row-list.ts'
import { readChosen } from './chosen-rows.ts'
import type { ChosenRow } from './chosen-rows.ts'

/**
 * Stores the row list of a version in batches, each with a checkpoint, so that a worker that lost its
 * claim adds nothing. While a batch is stored, the next one is read.
 * @returns the content hash, which covers all row hashes in the order of the rows
 */
export async function storeRows(
  { connection }: RowList,
  run: Run,
  { versionId, traceCount }: { versionId: string; traceCount: number },
) {
  const contentHash = openContentHash()
  let done = 0
  function store(rows: readonly NewRow[]) {
    done += rows.length
    const progress = buildProgress('storing rows', done / traceCount, traceCount)
    return run.sql.begin(async (tx: Transaction) => {
      await insertRows(tx, run.orgId, versionId, rows)
      await run.checkpoint(tx, progress)
    })
  }
  let storing: Promise<unknown> = Promise.resolve()
  try {
    for await (const chunk of readChosen(connection)) {
      run.signal.throwIfAborted()
      const rows = chunk.map(asNewRow)
      for (const { row_hash } of rows) contentHash.add(row_hash)
      await storing
      storing = awaitedLater(store(rows))
    }
  } finally {
    // Whoever clears the rows of a canceled build must find all that it stored.
    await storing
  }
  return contentHash.hex()
}

function asNewRow(row: ChosenRow): NewRow {
  const [
    ordinal,
    trace_id,
    rowHash,
    splitIndex,
    shard,
    byteOffset,
    length,
    tokens,
    messages,
    spanId,
    scores,
    rejectedId,
    rejectedScores,
  ] = row
  return {
    ordinal: Number(ordinal),
    trace_id,
    split: SPLITS[splitIndex] as Split,
    shard: Number(shard),
    byte_offset: Number(byteOffset),
    byte_length: length,
    tokens,
    messages,
    span_id: spanId,
    row_hash: rowHash.bytes,
    rejected_trace_id: rejectedId,
    score_fingerprint: rejectedScores
      ? hash('sha256', Buffer.concat([scores.bytes, rejectedScores.bytes]), 'buffer')
      : scores.bytes,
  }
}
