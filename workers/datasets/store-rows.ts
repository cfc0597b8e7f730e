import { hash } from 'node:crypto'
import { SPLITS } from '../../jobs/rules/dataset-recipe.ts'
import type { Split } from '../../jobs/rules/dataset-recipe.ts'
import { openContentHash } from '../../jobs/rules/dataset-rows.ts'
import { insertRows } from '../../sql/dataset-rows.ts'
import type { NewRow } from '../../sql/dataset-rows.ts'
import type { Transaction } from '../../sql/db.ts'
import type { Run } from '../handler.ts'
import { readChunks } from './duckdb.ts'
import { bytesOf } from './row-list.ts'
import type { RowList } from './row-list.ts'

/**
 * Stores the row list of a version, some rows at a time and each time with a checkpoint, so that a
 * worker that lost its claim adds nothing.
 * @returns the content hash: over all row hashes in the order of the rows
 */
export async function storeRows({ connection }: RowList, run: Run, versionId: string) {
  const contentHash = openContentHash()
  for await (const chunk of readChunks<ChosenRow>(connection, CHOSEN_ROWS)) {
    run.signal.throwIfAborted()
    const rows = chunk.map(asNewRow)
    for (const { row_hash } of rows) contentHash.add(row_hash)
    await run.sql.begin(async (tx: Transaction) => {
      const done = (rows.at(-1) as NewRow).ordinal + 1
      await insertRows(tx, run.orgId, versionId, rows)
      await run.checkpoint(tx, { done, unit: 'rows', note: 'storing rows' })
    })
  }
  return contentHash.hex()
}

function asNewRow(row: ChosenRow): NewRow {
  const [ordinal, trace_id, rowHash, side, shard, place, length, scores, rejectedScores] = row
  return {
    ordinal: Number(ordinal),
    trace_id,
    split: SPLITS[side] as Split,
    shard: Number(shard),
    byte_offset: Number(place),
    byte_length: length,
    row_hash: bytesOf(rowHash),
    score_fingerprint: rejectedScores
      ? hash('sha256', Buffer.concat([bytesOf(scores), bytesOf(rejectedScores)]), 'buffer')
      : bytesOf(scores),
  }
}

const CHOSEN_ROWS = `
  select ordinal, t.trace_id, c.hash, c.side, c.shard, c.place, c.length, t.score_fingerprint,
    rejected.score_fingerprint
  from chosen c join traces t on t.no = c.trace_no
  left join traces rejected on rejected.no = c.rejected_no
  order by ordinal`

type ChosenRow = [bigint, string, never, number, bigint, bigint, number, never, never]
