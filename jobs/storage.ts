import type { Readable } from 'node:stream'

/**
 * Where finished files and uploads are kept. Keys are relative paths of ids and fixed words; they
 * never hold text that a client wrote.
 */
export interface Storage {
  /** Writes all of `source` under the key, durably, and returns its size; nothing is left of a failed write. */
  write(key: string, source: AsyncIterable<Uint8Array>): Promise<number>
  /** Bytes `start` (default 0) to `end` exclusive (default the last). Rejects for an unknown key. */
  read(key: string, range?: { start?: number; end?: number }): Promise<Readable>
  /** Moves a finished local file under the key. */
  adopt(key: string, localPath: string): Promise<void>
  delete(key: string): Promise<void>
}
