import { partsGone } from '../../jobs/import-cursor.ts'
import { findImport, forgetUpload } from '../../sql/import/imports.ts'
import { deleteParts, hasParts } from '../../sql/import/import-parts.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import { followRestore } from '../../sql/transactions/follow-restore.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { CONTINUE, Waiting } from '../runtime/handler.ts'
import type { Outcome, ResumableRun, Run } from '../runtime/handler.ts'
import { assembleParts } from './assemble-parts.ts'
import type { PartsCursor, Slice } from './import-slice.ts'
import { placeScores } from './place-scores.ts'

/**
 * Reads records until there are none, the slice ends, or the source has to be waited for.
 * @returns the cursor behind the last record, which says how the import ended unless there are parts
 */
export type ReadRecords<C> = (
  item: ImportRow,
  from: C | undefined,
) => Promise<C | typeof CONTINUE | Waiting>

/** Runs an import from its checkpoint on, wherever its records come from. */
export async function runImport<C extends PartsCursor>(
  run: ResumableRun<C>,
  id: string,
  slice: Slice,
  read: ReadRecords<C>,
): Promise<Outcome> {
  return runToEnd(run, id, (item) => importSlice(run, item, slice, read))
}

/**
 * Runs an import from its checkpoint on, unless that says how it ended, and clears up behind its end.
 * @param work goes on until the import or the slice ends
 */
export async function runToEnd<C extends EndingCursor>(
  run: ResumableRun<C>,
  id: string,
  work: (item: ImportRow) => Promise<End | typeof CONTINUE | Waiting>,
): Promise<Outcome> {
  const item = await readImport(run, id)
  const cursor = run.checkpointed
  if (cursor && wasLostAfterProgress(cursor, run)) return CONTINUE
  const end = cursor?.end ?? (await clearedUp(run, item, work(item)))
  if (end === CONTINUE || end instanceof Waiting) return end
  await clear(run, item)
  if (end.fault) throw new GiveUp(end.fault.code, end.fault.message)
  return resultOf(run, id)
}

async function readImport({ sql, orgId }: Run, id: string) {
  const item = await findImport(sql, orgId, id)
  if (!item) throw new GiveUp('import_gone', 'The import is not there any more')
  return item
}

/**
 * Whether the previous run made progress and was then lost. Such a loss uses up no retry: the job
 * continues in a queue row of its own, so that only losses without any progress add up.
 */
function wasLostAfterProgress({ attempt, isSliceEnd }: EndingCursor, run: Run) {
  return attempt === run.attempt - 1 && !isSliceEnd
}

/** Goes on from the checkpoint, until the import or the time of the slice ends. */
async function importSlice<C extends PartsCursor>(
  run: ResumableRun<C>,
  item: ImportRow,
  slice: Slice,
  readRecords: ReadRecords<C>,
) {
  const from = run.checkpointed
  await checkParts(run, item, from)
  const read = from?.phase ? from : await readRecords(item, from)
  if (read === CONTINUE || read instanceof Waiting) return read
  if (read.end) return read.end
  const placed = read.phase === 'place' ? await placeScores(run, item, read, slice) : read
  return placed === CONTINUE ? CONTINUE : await assembleParts(run, item, placed, slice)
}

/** Nobody goes on with an import that is given up or canceled. What a restore has stored until then stays. */
async function clearedUp<T>(run: Run, item: ImportRow, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof GiveUp || run.signal.reason === 'canceled') {
      if (item.source === 'backup') await followRestore(run.sql, run.queue, item)
      await clear(run, item)
    }
    throw error
  }
}

/** A job that failed may be tried again when what it had staged was deleted. */
async function checkParts({ sql, orgId }: Run, { id }: ImportRow, from: PartsCursor | undefined) {
  if (from?.chunk_no === undefined || (await hasParts(sql, { orgId, importId: id }))) return
  throw new GiveUp(partsGone.code, partsGone.message)
}

async function resultOf(run: Run, id: string) {
  const item = await readImport(run, id)
  const { imported_count, skipped_count, error_count, scores_imported, losses } = item
  const { capped_at_line } = item
  return {
    import_id: id,
    imported_count,
    skipped_count,
    error_count,
    scores_imported,
    losses,
    ...(capped_at_line !== null && { capped_at_line }),
  }
}

/**
 * Deletes the upload and what was staged, some rows at a time, so that nobody waits long for vacuum. An
 * import that is canceled between two of its runs has no further one: `maint.retention` does it.
 */
async function clear(run: Run, { id, storage_key: key }: Pick<ImportRow, 'id' | 'storage_key'>) {
  const { sql, orgId } = run
  if (key !== null) {
    await forgetUpload(sql, orgId, id)
    await run.storage.delete(key)
  }
  while ((await deleteParts(sql, { orgId, importId: id }, DELETED_TOGETHER)) > 0);
}

const DELETED_TOGETHER = 10_000

type EndingCursor = Pick<PartsCursor, 'attempt' | 'isSliceEnd' | 'end'>
type End = NonNullable<PartsCursor['end']>
