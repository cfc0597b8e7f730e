import type { Run } from '../../runtime/handler.ts'
import { MAX_RECORD_BYTES, TOO_LONG } from '../containers/split-records.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { openPacker } from '../chunk-memory.ts'
import type { EncodedChunk, ImportSettings } from '../encode-chunk.ts'
import { prepareChunk } from '../prepare-chunk.ts'
import { countCodes } from '../store-step.ts'
import type { PlatformPage } from './platform.ts'

/** A page whose parts are ready to be staged. */
export interface ReadyPage {
  readonly chunks: readonly EncodedChunk[]
  readonly faults: readonly LineFault[]
  readonly losses: Readonly<Record<string, number>>
}

/**
 * Reads the records of a page, all of them pieces of traces, some at a time.
 * @param before how many records were before the page, and the number of the first chunk of its parts
 */
export async function readyPage(
  run: Run,
  settings: ImportSettings,
  { records, losses = {} }: PlatformPage,
  before: { readonly line: number; readonly chunkNo: number },
): Promise<ReadyPage> {
  const chunks: EncodedChunk[] = []
  const faults: LineFault[] = []
  const lost: string[] = []
  const packer = openPacker()
  for (const { records: some, lines, long } of chunksOf(records, before.line)) {
    run.signal.throwIfAborted()
    some.forEach(packer.add)
    const chunk = { ...packer.take(), lines }
    const prepared = await prepareChunk(run, settings, chunk, {
      chunkNo: before.chunkNo + chunks.length,
    })
    // There are no whole traces, of which it would have the rows.
    prepared.release()
    chunks.push(prepared.encoded)
    for (const line of long) faults.push({ line, ...TOO_LONG })
    for (const fault of prepared.faults) faults.push(fault)
    for (const code of prepared.encoded.lost) lost.push(code)
  }
  return { chunks, faults, losses: countCodes(lost, losses) }
}

/** The records some at a time, each with its number; of those that are too long only that. */
function* chunksOf(records: readonly Uint8Array[], before: number): Generator<Records> {
  let chunk = noRecords()
  for (const [i, record] of records.entries()) {
    const line = before + i + 1
    if (record.length > MAX_RECORD_BYTES) chunk.long.push(line)
    else {
      chunk.records.push(record)
      chunk.lines.push(line)
      chunk.bytes += record.length
    }
    const isFull = chunk.bytes >= CHUNK_BYTES || chunk.lines.length >= CHUNK_RECORDS
    if (!isFull && i < records.length - 1) continue
    yield chunk
    chunk = noRecords()
  }
}

function noRecords(): Records {
  return { records: [], lines: [], long: [], bytes: 0 }
}

/** As of a file. */
const CHUNK_BYTES = 4 << 20
const CHUNK_RECORDS = 5000

interface Records {
  readonly records: Uint8Array[]
  readonly lines: number[]
  readonly long: number[]
  bytes: number
}
