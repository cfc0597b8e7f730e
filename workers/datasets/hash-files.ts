import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** The SHA-256, in hex, of the files one after the other. */
export async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) {
    const content: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: READ_BYTES })
    for await (const bytes of content) hash.update(bytes)
  }
  return hash.digest('hex')
}

const READ_BYTES = 1 << 20
