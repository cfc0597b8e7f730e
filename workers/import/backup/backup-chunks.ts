import { isSpace, NEWLINE } from '../../../jobs/rules/core/json-bytes.ts'
import { KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import { openPacker } from '../chunk-memory.ts'
import type { Upload } from '../containers/open-upload.ts'
import type { Position } from '../containers/split-records.ts'
import { UploadFault } from '../containers/upload-fault.ts'
import type { LineFault } from '../containers/upload-fault.ts'

/** Lines of a backup that are stored together. */
export interface BackupChunk {
  /** The lines one after another, in memory that is used again once they are parsed (`chunk-memory.ts`). */
  readonly bytes: Uint8Array
  /** Where each line ends in `bytes`. */
  readonly ends: readonly number[]
  /** The number of each line. */
  readonly lines: readonly number[]
  /** Where each line begins in the file. */
  readonly starts: readonly number[]
  /** Lines that are too long to be read. */
  readonly faults: readonly UnreadLine[]
  /** Why nothing after this chunk can be read. */
  readonly broken: UploadFault | undefined
  /** The position from which to continue after this chunk. */
  readonly next: Position
  /** How many bytes of the stored file were read by then. */
  readonly consumed: number
  readonly isLast: boolean
  /** The line of the first trace that is left out because the organization's quota does not hold it. */
  readonly cappedAtLine?: number
}

/** A line that was not read. */
export interface UnreadLine extends LineFault {
  /** The kind that its beginning says; undefined where it says none. */
  readonly kind: string | undefined
}

/**
 * Reads a backup in chunks of about `chunkBytes`. A trace and the lines about it come together, and
 * so do skills and their versions, unless they are larger than eight chunks. There is always a last chunk, which
 * may be empty.
 * @param from where the bytes of the upload begin
 */
export async function* readBackupChunks(
  upload: Pick<Upload, 'bytes' | 'consumed'>,
  from: Position,
  chunkBytes: number,
): AsyncGenerator<BackupChunk> {
  const batch = openBatch(from)
  const chunk = (isLast: boolean, broken?: UploadFault): BackupChunk => ({
    ...batch.take(),
    broken,
    consumed: upload.consumed(),
    isLast,
  })
  try {
    for await (const line of splitLines(upload.bytes)) {
      if (batch.isFull(chunkBytes, isFollower(line))) yield chunk(false)
      batch.add(line)
    }
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error
    yield chunk(true, error)
    return
  }
  yield chunk(true)
}

/** The chunks up to a line, exclusive; the last one ends there. */
export async function* backupChunksBefore(
  chunks: AsyncIterable<BackupChunk>,
  line: number,
): AsyncGenerator<BackupChunk> {
  for await (const chunk of chunks) {
    if (chunk.next.line < line) yield chunk
    else {
      const count = chunk.lines.filter((each) => each < line).length
      const offset = chunk.starts[count] ?? chunk.next.offset
      yield {
        ...chunk,
        ends: chunk.ends.slice(0, count),
        lines: chunk.lines.slice(0, count),
        starts: chunk.starts.slice(0, count),
        faults: chunk.faults.filter((fault) => fault.line < line),
        next: { offset, line: line - 1 },
        isLast: true,
        cappedAtLine: line,
      }
      return
    }
  }
}

/** The lines of a text, with what ends them; of one that is too long only its size. */
async function* splitLines(source: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let size = 0
  let start = EMPTY
  function take(end: Buffer): Line {
    size += end.length
    const bytes = size > MAX_LINE_BYTES ? null : join(parts, end)
    const line = { size, bytes, kind: kindAtStart(bytes ?? start) }
    parts = []
    size = 0
    return line
  }
  for await (const bytes of source) {
    let from = 0
    for (let end; (end = bytes.indexOf(NEWLINE, from)) >= 0; from = end + 1) {
      yield take(bytes.subarray(from, end + 1))
    }
    const rest = bytes.subarray(from)
    if (size < HEAD_BYTES)
      start = Buffer.concat([start.subarray(0, size), rest.subarray(0, HEAD_BYTES)])
    size += rest.length
    if (size > MAX_LINE_BYTES) parts = []
    else if (rest.length > 0) parts.push(rest)
  }
  if (size > 0) yield take(EMPTY)
}

function join(parts: readonly Buffer[], end: Buffer) {
  return parts.length === 0 ? end : Buffer.concat([...parts, end])
}

/** Collects the lines of one chunk after the other. */
function openBatch(from: Position) {
  const texts = openPacker()
  let lines: number[] = []
  let starts: number[] = []
  let faults: UnreadLine[] = []
  let first = from
  let next = from
  return {
    isFull(chunkBytes: number, isFollower: boolean) {
      const bytes = next.offset - first.offset
      const count = next.line - first.line
      const factor = isFollower ? MAX_UNIT_CHUNKS : 1
      return bytes >= factor * chunkBytes || count >= factor * MAX_LINES
    },
    add({ bytes, size, kind }: Line) {
      const start = next.offset
      next = { offset: start + size, line: next.line + 1 }
      if (bytes === null) faults.push({ line: next.line, kind, ...TOO_LONG })
      else if (!isBlank(bytes)) {
        texts.add(bytes)
        lines.push(next.line)
        starts.push(start)
      }
    },
    take() {
      const taken = { ...texts.take(), lines, starts, faults, next }
      lines = []
      starts = []
      faults = []
      first = next
      return taken
    },
  }
}

/** Whether a line comes together with the one before it; a damaged one may be about that. */
function isFollower({ kind }: Line) {
  return kind === undefined || TOGETHER.has(kind)
}

/** The kind of a line, which stands first in it; undefined for a line that does not begin so. */
export function kindAtStart(bytes: Buffer): string | undefined {
  return /^\s*\{\s*"kind"\s*:\s*"(\w+)"/.exec(bytes.toString('latin1', 0, HEAD_BYTES))?.[1]
}

function isBlank(bytes: Buffer) {
  return bytes.every(isSpace)
}

interface Line {
  /** With what ends it. */
  readonly size: number
  /** Null for a line that is too long. */
  readonly bytes: Buffer | null
  readonly kind: string | undefined
}

/** What follows a trace, and skills with their versions: a skill without one cannot be shown. */
const TOGETHER: ReadonlySet<string> = new Set([
  ...KINDS.filter(({ isFollower }) => isFollower).map(({ name }) => name),
  'skill',
  'skill_version',
])
/** A trace has at most 64 MiB. */
const MAX_LINE_BYTES = 64 << 20
const TOO_LONG = { code: 'too_long', message: 'The line is larger than 64 MiB' }
const MAX_LINES = 5_000
const MAX_UNIT_CHUNKS = 8
const HEAD_BYTES = 64
const EMPTY = Buffer.alloc(0)
