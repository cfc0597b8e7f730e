import type { Container } from '../../jobs/rules/import/container.ts'
import { detectContainer, HEAD_BYTES } from './containers.ts'
import type { Upload } from './open-upload.ts'
import { openSplitter } from './split-records.ts'
import type { Found, Position } from './split-records.ts'
import { UploadFault } from './upload-fault.ts'
import type { LineFault } from './upload-fault.ts'

/** Records that go through the import together. */
export interface Chunk {
  /** The records one after another, in a buffer of their own. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Where each record ends in `bytes`. */
  readonly ends: readonly number[]
  /** The line of each record. */
  readonly lines: readonly number[]
  /** Lines that hold no record. */
  readonly faults: readonly LineFault[]
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

/** Where to begin, and in which container the records are from there on. */
export interface Start extends Position {
  readonly container: Container
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
    let splitter = from && openSplitter(container, from)
    for await (const bytes of withHead(upload.bytes)) {
      let data = bytes
      if (!splitter) {
        const detected = detectContainer(bytes)
        container = detected.container
        splitter = openSplitter(container, { offset: detected.offset, line: 0 })
        data = bytes.subarray(detected.offset)
      }
      for (const found of splitter.push(data)) if (batch.add(found)) yield chunk(false)
    }
    for (const found of splitter?.end() ?? []) batch.add(found)
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error
    batch.fault(error)
  }
  yield chunk(true)
}

/**
 * Passes the bytes on, with the first `HEAD_BYTES` of them, or all when there are fewer, in one piece.
 * A fault of the source is thrown after the bytes before it.
 */
async function* withHead(source: AsyncIterable<Buffer>) {
  const head: Buffer[] = []
  let size = 0
  let fault: { error: unknown } | undefined
  try {
    for await (const bytes of source) {
      if (size < HEAD_BYTES) {
        head.push(bytes)
        size += bytes.length
        if (size >= HEAD_BYTES) yield Buffer.concat(head)
      } else yield bytes
    }
  } catch (error) {
    fault = { error }
  }
  if (size < HEAD_BYTES) yield Buffer.concat(head)
  if (fault) throw fault.error
}

/** Collects the records and faults of one chunk after the other. */
function openBatch(chunkBytes: number, from: Position) {
  let records: Buffer[] = []
  let lines: number[] = []
  let faults: LineFault[] = []
  let broken: UploadFault | undefined
  let first = from
  let next = from
  return {
    take() {
      const taken = { ...packed(records), lines, faults, broken, next }
      records = []
      lines = []
      faults = []
      first = next
      return taken
    },
    /** Returns whether the chunk is full now. */
    add(found: Found): boolean {
      next = found.after
      if (found.kind === 'record') {
        records.push(found.bytes)
        lines.push(next.line)
      } else if (found.kind === 'fault') {
        faults.push({ line: next.line, code: found.code, message: found.message })
      }
      return next.offset - first.offset >= chunkBytes || lines.length + faults.length >= MAX_RECORDS
    },
    fault(fault: UploadFault) {
      broken = fault
      next = { offset: next.offset, line: next.line + 1 }
      faults.push({ line: next.line, code: fault.code, message: fault.message })
    },
  }
}

/** Copies: a view would keep the whole read buffer, and only memory of our own can go to a thread. */
function packed(records: readonly Buffer[]) {
  const ends: number[] = []
  let end = 0
  const bytes = new Uint8Array(records.reduce((sum, { length }) => sum + length, 0))
  for (const record of records) {
    bytes.set(record, end)
    end += record.length
    ends.push(end)
  }
  return { bytes, ends }
}

/** A chunk has at most this many records and faults, however short they are. */
const MAX_RECORDS = 5_000
