import { isConverted } from '../../../jobs/rules/import/container.ts'
import type { Storage } from '../../../jobs/storage.ts'
import { isGzip, openInflate } from './inflate.ts'
import type { Inflate } from './inflate.ts'
import { openPartMemory } from './part-memory.ts'
import type { PartMemory } from './part-memory.ts'
import { dropBytes } from './peek.ts'
import type { Start } from './split-records.ts'

/** A stored upload being read. */
export interface Upload extends Reading {
  /** The content, inflated when the file is gzip: from where it was opened, or all of what is converted. */
  readonly bytes: AsyncIterable<Buffer>
  /** How many bytes of the stored file were read or skipped. */
  readonly consumed: () => number
  /** Takes parts of `bytes` that nobody looks at any more. */
  readonly free: PartMemory['free']
}

/** What reading needs beside the bytes. */
export interface Reading {
  /** The only format that is expected; null where each record tells its own. */
  readonly format: string | null
  /** Reading throws its reason once it is aborted. */
  readonly signal: AbortSignal
  /** For files that cannot be read from their start to their end. */
  readonly makeScratchFolder: () => Promise<string>
  /** For the file and all gzip in it. */
  readonly inflate: Inflate
}

/**
 * Opens an upload where reading begins or goes on. Plain text is read from there. A gzip file cannot be
 * read from its middle, so it is inflated from its start and what comes before is dropped. What is
 * converted comes whole.
 */
export async function openUpload(
  storage: Storage,
  key: string,
  from: Start | undefined,
  settings: Omit<Reading, 'inflate'>,
): Promise<Upload> {
  const { format, signal, makeScratchFolder } = settings
  const { allocate, free } = openPartMemory()
  const inflate = openInflate()
  const offset = from && !isConverted(from.container) ? from.offset : 0
  const zipped = await beginsAsGzip(storage, key)
  const start = zipped ? 0 : offset
  let consumed = start
  async function* count(source: AsyncIterable<Buffer>) {
    for await (const bytes of source) {
      signal.throwIfAborted()
      consumed += bytes.length
      yield bytes
    }
  }
  const stored = count(await storage.read(key, { start, allocate }))
  return {
    bytes: zipped ? dropBytes(inflate(stored), offset) : stored,
    consumed: () => consumed,
    free,
    format,
    signal,
    makeScratchFolder,
    inflate,
  }
}

async function beginsAsGzip(storage: Storage, key: string) {
  const parts: Buffer[] = []
  for await (const part of await storage.read(key, { start: 0, end: 2 })) parts.push(part)
  return isGzip(Buffer.concat(parts))
}
