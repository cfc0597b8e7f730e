import type { Transaction } from '../../../sql/core/db.ts'
import { findNextChunk } from '../../../sql/import/import-parts.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import { followChunk } from '../../../sql/transactions/follow-restore.ts'
import { CONTINUE } from '../../runtime/handler.ts'
import type { ResumableRun } from '../../runtime/handler.ts'
import { readingProgress } from '../import-slice.ts'
import type { Slice } from '../import-slice.ts'
import type { RestoreCursor } from './restore-state.ts'

/**
 * Has found in traces what no backup has, chunk after chunk. It comes last: which trace is the copy of another,
 * and which manifest is the active one, shows once all are there. Judging again changes no decision then.
 */
export async function followUp(
  run: ResumableRun<RestoreCursor>,
  item: ImportRow,
  from: RestoreCursor,
  slice: Slice,
): Promise<NonNullable<RestoreCursor['end']> | typeof CONTINUE> {
  const key = { orgId: item.org_id, importId: item.id }
  for (let cursor = from; ;) {
    run.signal.throwIfAborted()
    if (cursor.end) return cursor.end
    const chunk = await findNextChunk(run.sql, key, cursor.followed_chunk_no ?? -1)
    const end = cursor.fault ? { fault: cursor.fault } : {}
    const next: RestoreCursor = {
      ...cursor,
      ...(chunk ? { followed_chunk_no: chunk.chunk_no } : { end }),
      attempt: run.attempt,
      isSliceEnd: slice.isOver(),
    }
    const progress = readingProgress(item, item.bytes_total ?? 0, !chunk)
    await run.queue.transaction(run.sql, async (tx: Transaction) => {
      if (chunk) await followChunk(tx, run.queue, item, chunk.spans)
      await run.checkpoint(tx, progress, next)
    })
    if (next.isSliceEnd && !next.end) return CONTINUE
    cursor = next
  }
}
