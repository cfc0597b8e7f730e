import type { Transaction } from '../../../sql/core/db.ts'
import { stageParts } from '../../../sql/import/import-parts.ts'
import { addImportStep } from '../../../sql/import/imports.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import type { Progress } from '../../../sql/jobs/jobs.ts'
import type { ResumableRun } from '../../runtime/handler.ts'
import type { PullCursor } from './pull-cursor.ts'
import type { ReadyPage } from './ready-page.ts'

/**
 * Stages the parts of a page in one transaction with its counts, its errors and the cursor behind it.
 * Whatever ends the process, all of it is stored or nothing.
 */
export async function storePage(
  run: ResumableRun<PullCursor>,
  { org_id: orgId, id: importId }: ImportRow,
  { chunks, faults, losses }: ReadyPage,
  cursor: PullCursor,
  progress: Progress,
) {
  await run.queue.transaction(run.sql, async (tx: Transaction) => {
    for (const { staged } of chunks) {
      run.signal.throwIfAborted()
      if (staged) await stageParts(tx, { orgId, importId }, staged)
    }
    await addImportStep(tx, orgId, importId, {
      source: undefined,
      bytes_done: cursor.bytes,
      lines_done: cursor.line,
      imported: 0,
      skipped: 0,
      errors: faults,
      scores: 0,
      losses,
      cappedAtLine: undefined,
      incompleteTraceIds: [],
    })
    await run.checkpoint(tx, progress, cursor)
  })
}
