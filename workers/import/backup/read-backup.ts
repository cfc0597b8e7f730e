import { CLOCK_AHEAD_MS } from '../../../jobs/rules/core/time.ts'
import { FileMissing } from '../../../jobs/storage.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import { GiveUp } from '../../runtime/give-up.ts'
import { CONTINUE } from '../../runtime/handler.ts'
import type { ResumableRun, Run } from '../../runtime/handler.ts'
import { openUpload } from '../containers/open-upload.ts'
import type { Slice } from '../import-slice.ts'
import { inOrder } from '../in-order.ts'
import { parseLinesInThread } from '../parsers.ts'
import { OverQuota } from '../store-step.ts'
import { backupChunksBefore, readBackupChunks } from './backup-chunks.ts'
import { AFTER_END } from './parse-lines.ts'
import type { ReadyChunk, RestoreAccess, RestoreCursor } from './restore-state.ts'
import { storeChunk } from './store-chunk.ts'

/**
 * Reads a backup from the cursor on and stores what is not there yet, until the end of the file, the end of the
 * slice, or the trace that the organization's quota does not hold; that one is known once a chunk does not fit,
 * and the chunk is then read again, up to its line.
 * @returns the cursor behind the last chunk
 */
export async function readBackup(
  run: ResumableRun<RestoreCursor>,
  item: ImportRow,
  access: RestoreAccess,
  from: RestoreCursor | undefined,
  slice: Slice,
  beforeLine = Infinity,
): Promise<RestoreCursor | typeof CONTINUE> {
  const upload = await openBackup(run, item, from?.offset ?? 0)
  const chunks = readBackupChunks(upload, from ?? START, slice.limits.chunkBytes)
  const { contentForm } = run
  const latestMs = run.now().getTime() + CLOCK_AHEAD_MS
  const settings = { orgId: item.org_id, isAdmin: access.isAdmin, contentForm, latestMs }
  let cursor = from
  const ready = inOrder(backupChunksBefore(chunks, beforeLine), CHUNKS_AHEAD, async (chunk) => {
    run.signal.throwIfAborted()
    return { chunk, parsed: await parseLinesInThread(chunk, settings) }
  })
  try {
    for await (const each of ready) {
      run.signal.throwIfAborted()
      if (!cursor && !each.parsed.hasHeader) throw noBackup()
      const isSliceEnd = slice.isOver()
      const next = await storeChunk(run, item, access, upToEnd(each, cursor), cursor, isSliceEnd)
      cursor = next
      if (next.end ?? next.phase) return next
      if (isSliceEnd) return CONTINUE
    }
  } catch (error) {
    if (!(error instanceof OverQuota)) throw error
    return await readBackup(run, item, access, cursor, slice, error.line)
  }
  throw new TypeError('The backup ended without its last chunk')
}

/** Opens the upload at a position of its content. */
export async function openBackup(run: Run, item: ImportRow, offset: number) {
  if (item.storage_key === null) throw uploadGone()
  const start = { offset, line: 0, container: 'lines' } as const
  return openUpload(run.storage, item.storage_key, start, { ...run, format: null }).catch(
    (error: unknown) => {
      throw error instanceof FileMissing ? uploadGone() : error
    },
  )
}

/** What stands behind the last line is no part of the backup. */
function upToEnd({ chunk, parsed }: ReadyChunk, cursor: RestoreCursor | undefined): ReadyChunk {
  if (!cursor?.last_line) return { chunk, parsed }
  const faults = chunk.lines.map((line) => ({ line, ...AFTER_END }))
  const { traces } = parsed
  const none = { ...traces, ends: [] }
  return {
    chunk,
    parsed: {
      ...parsed,
      entries: [],
      counts: {},
      faults,
      traces: none,
      end: undefined,
      openFault: undefined,
    },
  }
}

function uploadGone() {
  return new GiveUp('upload_gone', 'The upload is not there any more')
}

function noBackup() {
  return new GiveUp(
    'not_a_backup',
    'The file does not begin with the first line of a backup of a format that this release knows',
  )
}

const START = { offset: 0, line: 0 }
/** One chunk is stored while each of the two threads has another. */
const CHUNKS_AHEAD = 3
