import { createGunzip } from 'node:zlib'
import { HEADER } from '../../jobs/rules/import/backup/lines.ts'

/** An upload of which the start was read. */
export interface BegunUpload {
  /** All of it. */
  readonly parts: AsyncIterable<Uint8Array>
  /** Whether its first line is that of a backup. */
  readonly isBackup: boolean
}

/** Reads the start of an upload, which may be gzip, and tells whether a backup begins so. */
export async function beginUpload(source: AsyncIterable<Uint8Array>): Promise<BegunUpload> {
  const rest = source[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let size = 0
  while (size < HEAD_BYTES) {
    const next = await rest.next()
    if (next.done) break
    head.push(next.value)
    size += next.value.length
  }
  async function* all() {
    try {
      for (const part of head) yield part
      yield* { [Symbol.asyncIterator]: () => rest }
    } finally {
      await rest.return?.()
    }
  }
  const start = Buffer.concat(head).subarray(0, HEAD_BYTES)
  const text = start[0] === 0x1f && start[1] === 0x8b ? await inflateStart(start) : start
  return { parts: all(), isBackup: text.toString('latin1', 0, HEADER.length) === HEADER }
}

/** The first bytes of what gzip holds; empty where it is damaged. */
async function inflateStart(bytes: Buffer): Promise<Buffer> {
  const gunzip = createGunzip({ chunkSize: HEAD_BYTES })
  gunzip.end(bytes)
  try {
    for await (const part of gunzip) return part as Buffer
  } catch {
    // What is wrong with the file, its import says.
  }
  return Buffer.alloc(0)
}

/** More than the first line, and than what stands before it in gzip. */
const HEAD_BYTES = 1024
