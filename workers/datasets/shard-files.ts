import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { FileFacts } from '../../sql/datasets/versions.ts'

/** A finished file of rows. */
export interface Shard extends FileFacts {
  readonly split: Split
  /** Its number, from 0, among the files of its split. */
  readonly shard: number
  readonly localPath: string
  readonly row_count: number
  /** Bytes of its longest line. */
  readonly longest: number
}

/** The JSONL files of one split, filled one after the other. */
export interface ShardFiles {
  /** Adds a line. Returns the number of its file, and where it begins in it. */
  write(line: Uint8Array): Promise<{ shard: number; byteOffset: number }>
  /** Completes the last file, which is empty for a split without rows. */
  finish(): Promise<Shard>
  /** Closes a file that was not completed. */
  close(): Promise<void>
}

/** @param full called with every file that has reached `shardBytes`, once it is complete */
export async function openShardFiles(
  folder: string,
  split: Split,
  shardBytes: number,
  full: (shard: Shard) => void,
): Promise<ShardFiles> {
  let shard = 0
  let file = await openShardFile(join(folder, `${split}-0.jsonl`))
  return {
    async write(line) {
      if (file.size() >= shardBytes) {
        full({ split, shard, ...(await file.finish()) })
        shard++
        file = await openShardFile(join(folder, `${split}-${shard}.jsonl`))
      }
      return { shard, byteOffset: await file.write(line) }
    },
    finish: async () => ({ split, shard, ...(await file.finish()) }),
    close: () => file.close(),
  }
}

/** A file of lines. */
export async function openShardFile(localPath: string) {
  const file = await open(localPath, 'w')
  const hash = createHash('sha256')
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  let size_bytes = 0
  let row_count = 0
  let longest = 0
  async function flush() {
    const bytes = Buffer.concat(waiting, waitingBytes)
    waiting = []
    waitingBytes = 0
    hash.update(bytes)
    await file.appendFile(bytes)
  }
  return {
    size: () => size_bytes,
    /** Returns the byte offset of the line. The line is not copied until it is written. */
    async write(line: Uint8Array) {
      const byteOffset = size_bytes
      size_bytes += line.length
      row_count++
      longest = Math.max(longest, line.length)
      waiting.push(line)
      waitingBytes += line.length
      if (waitingBytes >= FLUSH_BYTES) await flush()
      return byteOffset
    },
    close: () => file.close(),
    async finish() {
      await flush()
      await file.close()
      return { localPath, row_count, size_bytes, longest, sha256: hash.digest('hex') }
    },
  }
}

const FLUSH_BYTES = 1 << 20
