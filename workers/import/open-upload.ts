import { createGunzip } from 'node:zlib'
import type { Gunzip } from 'node:zlib'
import type { Storage } from '../../jobs/storage.ts'
import { isGzip } from './containers.ts'
import { UploadFault } from './upload-fault.ts'

/** A stored upload being read. */
export interface Upload {
  /** What it holds, inflated when it is gzip, from the place asked for. @throws UploadFault */
  readonly bytes: AsyncIterable<Buffer>
  /** Bytes of the stored file that were read or passed over. */
  readonly consumed: () => number
}

/**
 * Opens an upload at an offset of what it holds. A plain file is read from there; a gzip file has no
 * such places, so it is inflated from its beginning and what comes before is dropped.
 */
export async function openUpload(storage: Storage, key: string, offset: number): Promise<Upload> {
  const zipped = await beginsAsGzip(storage, key)
  const from = zipped ? 0 : offset
  let consumed = from
  async function* count(source: AsyncIterable<Buffer>) {
    for await (const bytes of source) {
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
  for await (const part of await storage.read(key, { start: 0, end: 2 })) parts.push(part as Buffer)
  return isGzip(Buffer.concat(parts))
}

/**
 * Inflates in small steps, so that whatever ratio the bytes inflate with, little is held at once; and
 * so that all that came before a fault is given out before the fault is thrown, which a stream in
 * a pipeline would lose.
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

/** What a damaged place takes with it: zlib gives no output of the step that finds it. */
const INFLATED_BYTES = 64 << 10
/** Deflate inflates at most 1,032 to 1, so a step gives 16 MiB at most. */
const DEFLATED_BYTES = 16 << 10
const MAX_INFLATED_BYTES = 20 * 2 ** 30
