import { createGunzip } from 'node:zlib'
import type { Gunzip } from 'node:zlib'
import type { Storage } from '../../jobs/storage.ts'
import { isGzip } from './containers.ts'
import { UploadFault } from './upload-fault.ts'

/** A stored upload being read. */
export interface Upload {
  /** The content from the requested offset on, inflated when the file is gzip. @throws UploadFault */
  readonly bytes: AsyncIterable<Buffer>
  /** How many bytes of the stored file were read or skipped. */
  readonly consumed: () => number
}

/**
 * Opens an upload at an offset of its content. A plain file is read from there. A gzip file cannot be
 * read from its middle, so it is inflated from its start and what comes before the offset is dropped.
 * Reading throws the signal's reason once it is aborted, also while it drops.
 */
export async function openUpload(
  storage: Storage,
  key: string,
  offset: number,
  signal: AbortSignal,
): Promise<Upload> {
  const zipped = await beginsAsGzip(storage, key)
  const from = zipped ? 0 : offset
  let consumed = from
  async function* count(source: AsyncIterable<Buffer>) {
    for await (const bytes of source) {
      signal.throwIfAborted()
      consumed += bytes.length
      yield bytes
    }
  }
  const stored = count(await storage.read(key, { start: from }))
  return {
    bytes: zipped ? drop(inflate(stored), offset) : stored,
    consumed: () => consumed,
  }
}

async function beginsAsGzip(storage: Storage, key: string) {
  const parts: Buffer[] = []
  for await (const part of await storage.read(key, { start: 0, end: 2 })) parts.push(part)
  return isGzip(Buffer.concat(parts))
}

/**
 * Inflates in small steps, so that little is held at once, whatever ratio the bytes inflate with. And
 * all that comes before a fault is yielded before the fault is thrown; a stream in a pipeline would
 * lose it.
 */
async function* inflate(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: INFLATED_BYTES })
  const inflated: Buffer[] = []
  let total = 0
  let fault: NodeJS.ErrnoException | undefined
  gunzip.on('data', (bytes: Buffer) => inflated.push(bytes))
  gunzip.on('error', (error) => (fault = error))
  function* take() {
    for (const bytes of inflated.splice(0)) {
      total += bytes.length
      yield bytes
    }
    if (total > MAX_INFLATED_BYTES) {
      throw new UploadFault('too_large', 'The file inflates to more than 20 GiB')
    }
    if (fault?.code === 'Z_BUF_ERROR')
      throw new UploadFault('truncated', 'The gzip data ends early')
    if (fault) throw new UploadFault('damaged_gzip', `The gzip data is damaged: ${fault.message}`)
  }
  try {
    for await (const bytes of source) {
      for (let at = 0; at < bytes.length; at += DEFLATED_BYTES) {
        await settle(gunzip, (done) => gunzip.write(bytes.subarray(at, at + DEFLATED_BYTES), done))
        yield* take()
      }
    }
    await settle(gunzip, (done) => gunzip.once('end', done).end())
    yield* take()
  } finally {
    gunzip.destroy()
  }
}

/** Waits until a step is done or has failed. */
function settle(gunzip: Gunzip, start: (done: () => void) => void) {
  return new Promise<void>((resolve) => {
    function done() {
      gunzip.off('error', done)
      resolve()
    }
    gunzip.once('error', done)
    start(done)
  })
}

async function* drop(source: AsyncIterable<Buffer>, count: number) {
  let left = count
  for await (const bytes of source) {
    const rest = bytes.subarray(Math.min(left, bytes.length))
    left -= bytes.length - rest.length
    if (rest.length > 0) yield rest
  }
}

/** How much is lost where the data is damaged: zlib gives no output of the step that finds the damage. */
const INFLATED_BYTES = 64 << 10
/** Deflate inflates at most 1,032 to 1, so a step gives 16 MiB at most. */
const DEFLATED_BYTES = 16 << 10
const MAX_INFLATED_BYTES = 20 * 2 ** 30
