import { detectContainer, HEAD_BYTES } from './containers.ts'
import type { Container } from './containers.ts'
import type { Upload } from './open-upload.ts'
import { openSplitter } from './split-records.ts'
import type { Found, Place } from './split-records.ts'
import { UploadFault } from './upload-fault.ts'
import type { LineFault } from './upload-fault.ts'

/** Records that go through the import together. */
export interface Chunk {
  /** The records one after another, in memory of their own. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Where each record ends in `bytes`. */
  readonly ends: readonly number[]
  /** Line of each record. */
  readonly lines: readonly number[]
  /** Lines that hold no record. */
  readonly faults: readonly LineFault[]
  /** Why nothing behind this chunk can be read; the last of its faults. */
  readonly broken: UploadFault | undefined
  readonly container: Container
  /** From where to go on after this chunk. */
  readonly next: Place
  /** Bytes of the stored file read by then. */
  readonly consumed: number
  readonly isLast: boolean
  /** Of the first record left out, because the organization's quota does not hold it. */
  readonly cappedAtLine?: number
}

/** The chunks of what is before a line; the last one ends there. */
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

/** Where to begin, and how the file is to be read from there. */
export interface Start extends Place {
  readonly container: Container
}

/**
 * Reads an upload in chunks of about `chunkBytes`. The last one comes always, empty if need be; a
 * fault of the file as a whole is the last fault of it.
 */
export async function* readChunks(
  upload: Upload,
  from: Start | undefined,
  chunkBytes: number,
): AsyncGenerator<Chunk> {
  let container: Container = from?.container ?? 'lines'
  const gathering = openGathering(chunkBytes, from ?? { offset: 0, line: 0 })
  const chunk = (isLast: boolean) => ({
    ...gathering.take(),
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
      for (const found of splitter.push(data)) if (gathering.add(found)) yield chunk(false)
    }
    for (const found of splitter?.end() ?? []) gathering.add(found)
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error
    gathering.fault(error)
  }
  yield chunk(true)
}

/**
 * The same bytes, the first `HEAD_BYTES` of them in one piece, as far as there are so many; a fault of
 * the source comes after them.
 */
async function* withHead(source: AsyncIterable<Buffer>) {
  const head: Buffer[] = []
  let size = 0
  let fault: Error | undefined
  try {
    for await (const bytes of source) {
      if (size < HEAD_BYTES) {
        head.push(bytes)
        size += bytes.length
        if (size >= HEAD_BYTES) yield Buffer.concat(head)
      } else yield bytes
    }
  } catch (error) {
    fault = error as Error
  }
  if (size < HEAD_BYTES) yield Buffer.concat(head)
  if (fault) throw fault
}

function openGathering(chunkBytes: number, from: Place) {
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
    /** Whether the chunk is full now. */
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

/** Copies, because a view would keep the whole read buffer, and what is sent to a thread must be ours. */
function packed(records: readonly Buffer[]) {
  const ends: number[] = []
  let size = 0
  for (const { length } of records) ends.push((size += length))
  const bytes = new Uint8Array(size)
  records.forEach((record, i) => bytes.set(record, (ends[i] as number) - record.length))
  return { bytes, ends }
}

/** Records of a chunk at most, however short they are. */
const MAX_RECORDS = 10_000
