import { createGunzip } from 'node:zlib'

/** Passes an upload on, which may be gzip, and keeps its start. */
export function watchStart(source: AsyncIterable<Uint8Array>) {
  const head: Uint8Array[] = []
  let size = 0
  async function* pass() {
    for await (const part of source) {
      if (size < HEAD_BYTES) head.push(part)
      size += part.length
      yield part
    }
  }
  return {
    parts: pass(),
    /** Whether the first line of what was passed on is that of a backup, of whatever format. */
    async isBackup() {
      const start = Buffer.concat(head).subarray(0, HEAD_BYTES)
      const text = start[0] === 0x1f && start[1] === 0x8b ? await inflateStart(start) : start
      return BACKUP.test(text.toString('latin1'))
    },
  }
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

/** With the spaces that another program may have written. */
const BACKUP = /^\s*\{\s*"kind"\s*:\s*"backup"\s*[,}]/
/** More than the first line, and than what stands before it in gzip. */
const HEAD_BYTES = 1024
