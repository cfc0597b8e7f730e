import { randomUUID } from 'node:crypto'
import { mkdir, open, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { StorageAway } from '../../jobs/storage.ts'

/** A part of an object, on the disk until it is sent. All but the last of an object are of one size. */
export interface Part {
  readonly bytes: number
  readonly isLast: boolean
  /**
   * The bytes, in the given buffer where it is large enough. To be called before the part after the next
   * one is asked for, or the end.
   */
  read(buffer: Buffer): Promise<Buffer>
}

/**
 * The parts of a stream, at least one. They are gathered on the disk, so that any number of uploads which
 * come slowly take a step of memory each. At most two are there at once: one that is sent, and one that comes.
 * @param folder for files that have no name and are gone with the process
 * @throws RangeError for a stream of more than 50,000 MiB, 10,000 parts of 5 MiB
 */
export async function* spoolParts(
  source: AsyncIterable<Uint8Array>,
  folder: string,
): AsyncGenerator<Part> {
  const files: FileHandle[] = []
  const spool = <T>(work: () => Promise<T>) => asScratchAway(folder, work)
  let number = 0
  const file = async () => (files[number % 2] ??= await openNameless(folder))
  const step = Buffer.allocUnsafeSlow(STEP_BYTES)
  let [gathered, written] = [0, 0]
  async function flush() {
    const opened = await file()
    for (let at = 0; at < gathered;) {
      const { bytesWritten } = await opened.write(step, at, gathered - at, written + at)
      if (bytesWritten === 0) throw new Error('it takes no more')
      at += bytesWritten
    }
    written += gathered
    gathered = 0
  }
  async function finish(isLast: boolean): Promise<Part> {
    await spool(flush)
    const [bytes, from] = [written, await spool(file)]
    written = 0
    if (++number > MAX_PARTS)
      throw new RangeError(`The file has more than ${MAX_STREAM_BYTES} bytes`)
    return { bytes, isLast, read: (into) => spool(() => readWhole(from, 0, bytes, into)) }
  }
  try {
    for await (const chunk of source) {
      for (let from = 0; from < chunk.length;) {
        // A full part goes out once more has come, so that the last one is known.
        if (written + gathered === PART_BYTES) yield await finish(false)
        const taken = chunk.subarray(from, from + STEP_BYTES - gathered)
        step.set(taken, gathered)
        from += taken.length
        gathered += taken.length
        if (gathered === STEP_BYTES) await spool(flush)
      }
    }
    yield await finish(true)
  } finally {
    for (const opened of files) opened.close().catch(() => undefined)
  }
}

/** The parts of a local file, at least one, as many as S3 takes. */
export async function* fileParts(file: FileHandle, size: number): AsyncGenerator<Part> {
  const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS))
  for (let at = 0; at === 0 || at < size; at += partBytes) {
    const bytes = Math.min(partBytes, size - at)
    yield { bytes, isLast: at + bytes === size, read: (into) => readWhole(file, at, bytes, into) }
  }
}

async function readWhole(file: FileHandle, from: number, bytes: number, into: Buffer) {
  const buffer = bytes > into.length ? Buffer.allocUnsafeSlow(bytes) : into.subarray(0, bytes)
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(buffer, at, bytes - at, from + at)
    if (bytesRead === 0) throw new Error('A local file was cut short')
    at += bytesRead
  }
  return buffer
}

async function openNameless(folder: string) {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `part-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path).catch(async (error: unknown) => {
    await file.close()
    throw error
  })
  return file
}

async function asScratchAway<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return work().catch((cause: Error) => {
    const message = `The scratch folder ${folder} cannot be used: ${cause.message}`
    throw new StorageAway(message, { cause })
  })
}

/** The least that S3 takes. */
export const PART_BYTES = 5 << 20
/** Parts are whole steps. */
const STEP_BYTES = 256 << 10
const MAX_PARTS = 10_000
const MAX_STREAM_BYTES = PART_BYTES * MAX_PARTS
