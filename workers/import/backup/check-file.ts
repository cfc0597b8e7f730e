import { createHash } from 'node:crypto'
import type { Transaction } from '../../../sql/core/db.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import type { ResumableRun } from '../../runtime/handler.ts'
import { readingProgress } from '../import-slice.ts'
import { openBackup } from './read-backup.ts'
import { incomplete } from './restore-state.ts'
import type { RestoreCursor } from './restore-state.ts'

/**
 * Compares all that stands before the last line with the hash that this one tells. It reads the file once more:
 * a hash that was begun cannot be stored with a checkpoint.
 */
export async function checkFile(
  run: ResumableRun<RestoreCursor>,
  item: ImportRow,
  from: RestoreCursor,
): Promise<RestoreCursor> {
  const last = from.last_line
  if (!last) throw new TypeError('The last line was not read')
  const sha256 = await hashStart(run, item, last.offset)
  const fault =
    sha256 === last.sha256
      ? from.fault
      : incomplete('its bytes are not those that its last line names')
  const end = fault ? { fault } : {}
  const next: RestoreCursor = {
    ...from,
    fault,
    phase: 'follow',
    // A dry run has stored nothing that anything would follow from.
    ...(item.dry_run && { end }),
    attempt: run.attempt,
    isSliceEnd: false,
  }
  const progress = readingProgress(item, item.bytes_total ?? 0, false)
  await run.queue.transaction(run.sql, (tx: Transaction) => run.checkpoint(tx, progress, next))
  return next
}

async function hashStart(run: ResumableRun<RestoreCursor>, item: ImportRow, length: number) {
  const hash = createHash('sha256')
  const { bytes } = await openBackup(run, item, 0)
  let left = length
  for await (const part of bytes) {
    run.signal.throwIfAborted()
    hash.update(part.subarray(0, left))
    left -= part.length
    if (left <= 0) break
  }
  return hash.digest('hex')
}
