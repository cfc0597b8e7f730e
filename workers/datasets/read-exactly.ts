import { readSync } from 'node:fs'

/**
 * Reads bytes of a file from a position on. It holds up the event loop.
 * @throws Error where the file ends before
 */
export function readExactly(
  file: number,
  into: NodeJS.ArrayBufferView,
  { bytes = into.byteLength, from }: { bytes?: number; from: number },
) {
  for (let at = 0; at < bytes;) {
    const count = readSync(file, into, at, Math.min(bytes - at, READ_BYTES), from + at)
    if (count === 0) throw new Error(`The file ends ${bytes - at} bytes too early`)
    at += count
  }
}

/** One read takes less than 2 GiB. */
const READ_BYTES = 1 << 30
