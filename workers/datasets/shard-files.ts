import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
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
  // One for the whole file: a new one each time would be as much garbage as the file is large.
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  let filled = 0
  let size_bytes = 0
  let row_count = 0
  let longest = 0
  async function append(bytes: Uint8Array) {
    hash.update(bytes)
    await file.appendFile(bytes)
  }
  async function flush() {
    await append(buffer.subarray(0, filled))
    filled = 0
  }
  return {
    size: () => size_bytes,
    /** Returns the byte offset of the line. */
    async write(line: Uint8Array) {
      const byteOffset = size_bytes
      size_bytes += line.length
      row_count++
      longest = Math.max(longest, line.length)
      if (filled + line.length > buffer.length) await flush()
      if (line.length > buffer.length) {
        await append(line)
      } else {
        buffer.set(line, filled)
        filled += line.length
      }
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

/** A line of a file. @throws Error where the file ends before the line does */
export async function readLine(file: FileHandle, offset: number, length: number) {
  const line = new Uint8Array(length)
  const { bytesRead } = await file.read(line, 0, length, offset)
  if (bytesRead < length) throw new Error(`The file ends before byte ${offset} + ${length}`)
  return line
}

const BUFFER_BYTES = 1 << 20
