import { createHash } from 'node:crypto'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { FileFacts } from '../../sql/datasets/versions.ts'

/** A finished file of rows. */
export interface Shard extends LineFile {
  readonly split: Split
  /** Its number, from 0, among the files of its split. */
  readonly shard: number
}

/** A finished file of lines. */
export interface LineFile extends FileFacts {
  readonly localPath: string
  readonly row_count: number
  /** Bytes of its longest line. */
  readonly longest: number
}

/** Where a line is. */
export interface Place {
  /** The number of its file among those of its split. */
  readonly shard: number
  /** Where it begins in it. */
  readonly byteOffset: number
}

/** The JSONL files of a version, those of a split filled one after the other. Writing holds up the event loop. */
export interface ShardFiles {
  /**
   * Adds a line to the files of a split, given as an index in `SPLITS`.
   * @param pieces of the line, one behind the other: to join them would copy them once more
   */
  write(splitIndex: number, pieces: readonly string[]): Place
  /** The files that were completed since it was called before. */
  takeFinished(): Shard[]
  /** Completes the last file of each split, which is empty for a split without rows. */
  finish(): void
}

/** @param shardBytes the size that all files reach, except the last of a split */
export function openShardFiles(folder: string, shardBytes: number): ShardFiles {
  let finished: Shard[] = []
  const splits = SPLITS.map((split) => openSplit(folder, split))
  return {
    write(splitIndex, pieces) {
      const files = splits[splitIndex]
      if (!files) throw new RangeError(`There is no split ${splitIndex}`)
      if (files.size() >= shardBytes) finished.push(files.next())
      return files.write(pieces)
    },
    takeFinished() {
      const taken = finished
      finished = []
      return taken
    },
    finish() {
      finished.push(...splits.map((files) => files.finish()))
    },
  }
}

function openSplit(folder: string, split: Split) {
  let shard = 0
  const open = () => openLineFile(join(folder, `${split}-${shard}.jsonl`))
  let file = open()
  const finish = (): Shard => ({ split, shard, ...file.finish() })
  return {
    size: () => file.size(),
    write: (pieces: readonly string[]): Place => ({ shard, byteOffset: file.write(pieces) }),
    finish,
    /** Completes a file and begins another one. */
    next() {
      const finished = finish()
      shard++
      file = open()
      return finished
    },
  }
}

/** A file of lines, for a thread: writing holds up the event loop. What was not finished the end of the thread closes. */
export function openLineFile(localPath: string) {
  const file = openSync(localPath, 'w')
  const hash = createHash('sha256')
  // One for the whole file: a new one each time would be as much garbage as the file is large.
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  let filled = 0
  let size_bytes = 0
  let row_count = 0
  let longest = 0
  function append(bytes: Uint8Array) {
    hash.update(bytes)
    writeFileSync(file, bytes)
  }
  function flush() {
    append(buffer.subarray(0, filled))
    filled = 0
  }
  function add(piece: string | Uint8Array) {
    const most = typeof piece === 'string' ? UTF8_BYTES * piece.length : piece.length
    if (filled + most > buffer.length) flush()
    if (most > buffer.length) {
      const bytes = Buffer.from(piece)
      size_bytes += bytes.length
      return append(bytes)
    }
    const before = filled
    if (typeof piece === 'string') filled += buffer.write(piece, filled)
    else {
      buffer.set(piece, filled)
      filled += piece.length
    }
    size_bytes += filled - before
  }
  return {
    size: () => size_bytes,
    /** Adds a line, given in pieces. Returns its byte offset. */
    write(pieces: readonly (string | Uint8Array)[]) {
      const byteOffset = size_bytes
      for (const piece of pieces) add(piece)
      row_count++
      longest = Math.max(longest, size_bytes - byteOffset)
      return byteOffset
    },
    finish(): LineFile {
      flush()
      closeSync(file)
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
/** What a character of a string takes at most. */
const UTF8_BYTES = 3
