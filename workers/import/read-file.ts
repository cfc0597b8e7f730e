import { FileMissing } from '../../jobs/storage.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { CONTINUE } from '../runtime/handler.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'
import type { ImportSettings } from './encode-chunk.ts'
import { readingProgress, settingsOf } from './import-slice.ts'
import type { Cursor, Slice, Step } from './import-slice.ts'
import { inOrder } from './in-order.ts'
import { openUpload } from './containers/open-upload.ts'
import { prepareChunk } from './prepare-chunk.ts'
import type { PreparedRecords } from './prepare-chunk.ts'
import { chunksBefore, readChunks, withEntries } from './containers/read-chunks.ts'
import type { Chunk } from './containers/read-chunks.ts'
import { OverQuota, storeStep } from './store-step.ts'
import type { ReadyStep } from './store-step.ts'

/**
 * Reads the file from the cursor on: stores whole traces and stages parts of others, until the end of the
 * file, the end of the slice, or the line at which the organization's quota is used up. That line is
 * known once a chunk does not fit; the chunk is then read again, up to the line.
 * @returns the cursor behind the last chunk, which says how the import ended unless there are parts
 */
export async function readFile(
  run: ResumableRun<Cursor>,
  item: ImportRow,
  from: Cursor | undefined,
  slice: Slice,
  beforeLine = Infinity,
): Promise<Cursor | typeof CONTINUE> {
  const chunks = await openChunks(run, item, from, slice)
  const settings = { ...settingsOf(run, item), format: formatOf(item, from) }
  let cursor: Cursor | undefined = from
  let chunkNo = from?.chunk_no ?? 0
  // A file is imported once as a rule, and once more as a whole: what holds for a chunk holds for the next.
  let areNew = false
  const ready = inOrder(chunksBefore(chunks, beforeLine), CHUNKS_AHEAD, (chunk) =>
    prepare(run, settings, chunk, { chunkNo: chunkNo++, areNew }),
  )
  try {
    for await (const prepared of ready) {
      run.signal.throwIfAborted()
      const isSliceEnd = slice.isOver()
      const next = { ...advance(cursor, prepared, settings), attempt: run.attempt, isSliceEnd }
      const { skipped } = await storeStep(run, item, stepOf(item, prepared, next), next)
      prepared.release()
      areNew = skipped === 0 && !item.dry_run
      cursor = next
      if (isSliceEnd && !next.end) return CONTINUE
      if (next.end ?? next.phase) return next
    }
  } catch (error) {
    if (error instanceof OverQuota) return await readFile(run, item, cursor, slice, error.line)
    throw error
  }
  throw new TypeError('The upload ended without its last chunk')
}

async function openChunks(
  run: Run,
  item: ImportRow,
  from: Cursor | undefined,
  { limits }: Slice,
): Promise<AsyncIterable<Chunk>> {
  if (item.storage_key === null) throw uploadGone()
  const format = formatOf(item, from)
  const upload = await openUpload(run.storage, item.storage_key, from, { ...run, format }).catch(
    (error: unknown) => {
      throw error instanceof FileMissing ? uploadGone() : error
    },
  )
  return readChunks(upload, from, limits.chunkBytes)
}

/** Once a format is found, the row names that one, and only the cursor has the format asked for. */
function formatOf({ source }: ImportRow, from: Cursor | undefined) {
  const asked = source === 'auto' || source === 'backup' ? null : source
  return from ? from.format : asked
}

function uploadGone() {
  return new GiveUp('upload_gone', 'The upload is not there any more')
}

async function prepare(
  run: Run,
  settings: ImportSettings,
  chunk: Chunk,
  how: { chunkNo: number; areNew: boolean },
): Promise<PreparedChunk> {
  const prepared = await prepareChunk(run, settings, chunk, how)
  const faults = withEntries(chunk, [...chunk.faults, ...prepared.faults])
  return { ...prepared, chunk, chunkNo: how.chunkNo, faults }
}

/** Where a run continues after a chunk, or how the import ends with it. */
function advance(
  cursor: Cursor | undefined,
  { chunk, chunkNo, encoded, faults, readable }: PreparedChunk,
  { format }: ImportSettings,
): Step {
  const hasParts = cursor?.chunk_no !== undefined || encoded.staged !== undefined
  const hasSpanScores = cursor?.span_scores === true || encoded.hasSpanScores
  const next: Step = {
    ...chunk.next,
    container: chunk.container,
    format,
    readable: (cursor?.readable ?? false) || readable,
    faults: (cursor?.faults ?? 0) + faults.length,
    ...(hasParts && { chunk_no: chunkNo + 1 }),
    ...(hasSpanScores && { span_scores: true }),
  }
  const isEnd = chunk.isLast || chunk.broken !== undefined || chunk.cappedAtLine !== undefined
  const fault = chunk.cappedAtLine === undefined ? faultOf(next, chunk) : undefined
  if (!isEnd && !fault) return next
  if (hasParts) {
    const phase = hasSpanScores ? 'place' : 'assemble'
    return { ...next, phase, ...(fault && { broken: fault }) }
  }
  return { ...next, end: fault ? { fault } : {} }
}

/** Why nothing behind a chunk is read. */
function faultOf({ readable, faults }: Step, { broken, isLast, faults: [first] }: Chunk) {
  if (broken) return { code: broken.code, message: broken.message }
  const isHopeless = !readable && faults >= (isLast ? 1 : MAX_UNREADABLE)
  if (!isHopeless) return undefined
  if (faults === 1 && first) return { code: first.code, message: first.message }
  return { code: 'nothing_readable', message: 'No line of the file is JSON' }
}

function stepOf(
  item: ImportRow,
  { chunk, ...prepared }: PreparedChunk,
  { end }: Cursor,
): ReadyStep {
  const { encoded, faults, format } = prepared
  return {
    encoded,
    staged: encoded.staged,
    faults,
    leftOut: chunk.losses,
    format,
    bytesDone: chunk.consumed,
    linesDone: chunk.next.line,
    cappedAtLine: chunk.cappedAtLine,
    progress: readingProgress(item, chunk.consumed, end !== undefined),
  }
}

interface PreparedChunk extends PreparedRecords {
  readonly chunk: Chunk
  readonly chunkNo: number
}

/** One chunk is stored while each of the two threads has another. */
const CHUNKS_AHEAD = 3
/** The import gives up on a file after this many faults, when none of its lines was JSON. */
const MAX_UNREADABLE = 10_000
