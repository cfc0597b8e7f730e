import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

/** The SHA-256, in hex, of the files one after the other. */
export async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  // One buffer for all: a new one each time would be as much garbage as the files are large.
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  for (const path of paths) {
    await using file = await open(path)
    for (;;) {
      const { bytesRead } = await file.read(buffer)
      if (bytesRead === 0) break
      hash.update(buffer.subarray(0, bytesRead))
    }
  }
  return hash.digest('hex')
}

const READ_BYTES = 1 << 20
