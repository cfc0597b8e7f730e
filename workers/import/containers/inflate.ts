import { createGunzip } from 'node:zlib'
import type { Gunzip } from 'node:zlib'
import { UploadFault } from './upload-fault.ts'

/** Inflates gzip. All that one of them inflates counts together. */
export type Inflate = (source: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>

/**
 * Inflates in small steps, so that little is held at once, whatever ratio the bytes inflate with. And
 * all that comes before a fault is yielded before the fault is thrown; a stream in a pipeline would
 * lose it.
 * @param maxBytes bound of what all sources inflate to
 */
export function openInflate(maxBytes = MAX_INFLATED_BYTES): Inflate {
  let total = 0
  return async function* inflate(source) {
    const gunzip = createGunzip({ chunkSize: INFLATED_BYTES })
    const inflated: Buffer[] = []
    let fault: NodeJS.ErrnoException | undefined
    gunzip.on('data', (bytes: Buffer) => inflated.push(bytes))
    gunzip.on('error', (error) => (fault = error))
    function* take() {
      for (const bytes of inflated.splice(0)) {
        total += bytes.length
        yield bytes
      }
      if (total > maxBytes) throw new UploadFault('too_large', TOO_LARGE)
      if (fault) throw faultOf(fault)
    }
    try {
      for await (const bytes of source) {
        for (let at = 0; at < bytes.length; at += DEFLATED_BYTES) {
          const step = bytes.subarray(at, at + DEFLATED_BYTES)
          await settle(gunzip, (done) => gunzip.write(step, done))
          yield* take()
        }
      }
      await settle(gunzip, (done) => gunzip.once('end', done).end())
      yield* take()
    } finally {
      gunzip.destroy()
    }
  }
}

export function isGzip(head: Uint8Array) {
  return head[0] === 0x1f && head[1] === 0x8b
}

function faultOf({ code, message }: NodeJS.ErrnoException) {
  if (code === 'Z_BUF_ERROR') return new UploadFault('truncated', 'The gzip data ends early')
  return new UploadFault('damaged_gzip', `The gzip data is damaged: ${message}`)
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

/** How much is lost where the data is damaged: zlib gives no output of the step that finds the damage. */
const INFLATED_BYTES = 64 << 10
/** Deflate inflates at most 1,032 to 1, so a step gives 16 MiB at most. */
const DEFLATED_BYTES = 16 << 10
export const MAX_INFLATED_BYTES = 20 * 2 ** 30
const TOO_LARGE = 'The file inflates to more than 20 GiB'
