import type { Container } from '../../../jobs/rules/import/container.ts'
import type { Upload } from './open-upload.ts'
import { openPacker } from '../chunk-memory.ts'
import { readRecords } from './read-records.ts'
import type { Found, Position, ReaderLoss, Start } from './split-records.ts'
import { UploadFault } from './upload-fault.ts'
import type { LineFault } from './upload-fault.ts'

/** Records that go through the import together. */
export interface Chunk {
  /** The records one after another, in memory that is used again once they are parsed (`chunk-memory.ts`). */
  readonly bytes: Uint8Array
  /** Where each record ends in `bytes`. */
  readonly ends: readonly number[]
  /** The line of each record. */
  readonly lines: readonly number[]
  /** Lines that hold no record. */
  readonly faults: readonly LineFault[]
  /** What was left out, and how often. */
  readonly losses: Readonly<Partial<Record<ReaderLoss, number>>>
  /** The entries of an archive that the records are in. */
  readonly entries: readonly ArchiveEntry[]
  /** Why nothing after this chunk can be read; it is also the last of `faults`. */
  readonly broken: UploadFault | undefined
  readonly container: Container
  /** The position from which to continue after this chunk. */
  readonly next: Position
  /** How many bytes of the stored file were read by then. */
  readonly consumed: number
  readonly isLast: boolean
  /** The line of the first record that is left out because the organization's quota does not hold it. */
  readonly cappedAtLine?: number
}

/** The chunks up to a line, exclusive; the last one ends there. */
export async function* chunksBefore(
  chunks: AsyncIterable<Chunk>,
  line: number,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    if (chunk.next.line < line) yield chunk
    else {
      const count = chunk.lines.filter((each) => each < line).length
      yield {
        ...chunk,
        ends: chunk.ends.slice(0, count),
        lines: chunk.lines.slice(0, count),
        faults: chunk.faults.filter((fault) => fault.line < line),
        next: { ...chunk.next, line: line - 1 },
        isLast: true,
        cappedAtLine: line,
      }
      return
    }
  }
}

/** Faults whose messages name the entry of the archive that they are in. */
export function withEntries({ entries }: Pick<Chunk, 'entries'>, faults: readonly LineFault[]) {
  return faults.map((fault) => {
    const entry = entries.findLast(({ line }) => line <= fault.line)
    return entry?.name ? { ...fault, message: `entry "${entry.name}": ${fault.message}` } : fault
  })
}

/**
 * Reads an upload in chunks of about `chunkBytes`. There is always a last chunk, which may be empty; a
 * fault of the file as a whole is its last fault.
 */
export async function* readChunks(
  upload: Upload,
  from: Start | undefined,
  chunkBytes: number,
): AsyncGenerator<Chunk> {
  let container: Container = from?.container ?? 'lines'
  const batch = openBatch(chunkBytes, from ?? { offset: 0, line: 0 })
  const chunk = (isLast: boolean) => ({
    ...batch.take(),
    container,
    consumed: upload.consumed(),
    isLast,
  })
  try {
    for await (const { found, entry, ...batched } of readRecords(
      upload.bytes,
      from,
      upload,
      upload.free,
    )) {
      container = batched.container
      for (const each of found) if (batch.add(each, entry)) yield chunk(false)
    }
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error
    batch.fault(error)
  }
  yield chunk(true)
}

/** Collects the records and faults of one chunk after the other. */
function openBatch(chunkBytes: number, from: Position) {
  const records = openPacker()
  let lines: number[] = []
  let faults: LineFault[] = []
  let losses: Partial<Record<ReaderLoss, number>> = {}
  let entries: ArchiveEntry[] = []
  let broken: UploadFault | undefined
  let first = from
  let next = from
  return {
    take() {
      const taken = { ...records.take(), lines, faults, losses, entries, broken, next }
      lines = []
      faults = []
      losses = {}
      entries = []
      first = next
      return taken
    },
    /** Returns whether the chunk is full now. */
    add(found: Found, entry: string | undefined): boolean {
      next = found.after
      const isLine = found.kind === 'record' || found.kind === 'fault'
      if (isLine && entry !== undefined && entry !== entries.at(-1)?.name) {
        entries.push({ line: next.line, name: entry })
      }
      if (found.kind === 'record') {
        records.add(found.bytes)
        lines.push(next.line)
      } else if (found.kind === 'fault') {
        faults.push({ line: next.line, code: found.code, message: found.message })
      } else if (found.kind === 'loss') losses[found.code] = (losses[found.code] ?? 0) + 1
      return next.offset - first.offset >= chunkBytes || lines.length + faults.length >= MAX_RECORDS
    },
    fault(fault: UploadFault) {
      broken = fault
      next = { offset: next.offset, line: next.line + 1 }
      faults.push({ line: next.line, code: fault.code, message: fault.message })
      entries.push({ line: next.line, name: null })
    },
  }
}

/** An entry of an archive that a chunk has something of. */
export interface ArchiveEntry {
  /** The first line of the chunk that is in it. */
  readonly line: number
  /** Null for what is said of the file as a whole. */
  readonly name: string | null
}

/** A chunk has at most this many records and faults, however short they are. */
const MAX_RECORDS = 5_000
