import { GetObjectCommand } from '@aws-sdk/client-s3'
import { addAbortSignal, Readable } from 'node:stream'
import { StorageAway } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isConflict, isMissing, isPastEnd } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'
import { fileMissing } from './s3-object.ts'

/**
 * Streams bytes of an object, as fast as they are read. Where the connection breaks it goes on from there,
 * with the same object; whatever ends it early is an error of the stream.
 * @param range `end` is exclusive, and after `start`
 * @throws FileMissing
 */
export async function readObject(
  bucket: Bucket,
  guard: Guard,
  key: string,
  { start, end }: { start: number; end: number },
): Promise<Readable> {
  const gone = new AbortController()
  const open = (from: number, etag?: string) =>
    openObject({ bucket, guard, key, from, end, etag, gone: gone.signal })
  const first = await open(start)
  if (!first) return Readable.from([])
  const chunks = readOn(guard, first, start, open, gone.signal)
  return new Readable({
    read() {
      chunks.next().then(
        ({ value }) => this.push(value ?? null),
        (error: Error) => this.destroy(error),
      )
    },
    // A reader who leaves ends the request at once, also one that waits for the storage.
    destroy(error, done) {
      gone.abort()
      done(error)
    },
  })
}

async function* readOn(
  guard: Guard,
  first: Opened,
  start: number,
  open: (from: number, etag?: string) => Promise<Opened | undefined>,
  gone: AbortSignal,
): AsyncGenerator<Buffer, undefined> {
  const end = start + first.bytes
  let opened: Opened | undefined = first
  let [at, breaks] = [start, 0]
  for (;;) {
    try {
      opened ??= await open(at, first.etag)
      if (!opened) throw new StorageAway(BROKEN)
      for await (const chunk of inTime(guard, opened.body, gone)) {
        breaks = 0
        at += chunk.length
        yield chunk
      }
    } catch (cause) {
      if (++breaks > MAX_BREAKS) throw opened ? new StorageAway(BROKEN, { cause }) : cause
    } finally {
      opened?.body.destroy()
      opened = undefined
    }
    if (at >= end || gone.aborted) return
  }
}

/** Fails where nothing comes for long. A reader may take its time between two chunks, and may go. */
async function* inTime(guard: Guard, body: Readable, gone: AbortSignal) {
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await guard.run(() =>
      chunks.next().catch((error: unknown) => {
        // That says nothing about the storage.
        if (gone.aborted) return { value: undefined, done: true }
        throw error
      }),
    )
    if (done) return
    yield value as Buffer
  }
}

/** Undefined where the object ends before `from`. */
async function openObject({ bucket, guard, key, from, end, etag, gone }: Opening) {
  const { client, at } = bucket
  const isWhole = from === 0 && end === Infinity
  const range = isWhole ? {} : { Range: `bytes=${from}-${end === Infinity ? '' : end - 1}` }
  const get = new GetObjectCommand({ ...at(key), ...range, ...(etag && { IfMatch: etag }) })
  const found = await guard.run(async (late) => {
    const abortSignal = AbortSignal.any([late, gone])
    return client.send(get, { abortSignal }).catch((error: unknown) => {
      if (isMissing(error)) return 'missing'
      if (isPastEnd(error)) return 'past end'
      if (isConflict(error))
        throw new StorageAway(`The stored file ${key} changed while it was read`)
      throw error
    })
  })
  if (found === 'missing') throw await fileMissing(guard, key)
  if (found === 'past end') return undefined
  const { Body, ContentLength: bytes, ContentRange, ETag } = found
  const body = Body as Readable
  addAbortSignal(gone, body)
  if (bytes === undefined || (!isWhole && !ContentRange?.startsWith(`bytes ${from}-`))) {
    body.destroy()
    throw new StorageAway(`The storage does not read ${key} in ranges`)
  }
  return { body, bytes, etag: ETag }
}

interface Opening {
  readonly bucket: Bucket
  readonly guard: Guard
  readonly key: string
  readonly from: number
  readonly end: number
  readonly etag: string | undefined
  readonly gone: AbortSignal
}

type Opened = NonNullable<Awaited<ReturnType<typeof openObject>>>

/** In a row, without a byte between them. */
const MAX_BREAKS = 3
const BROKEN = 'The storage breaks off while a file is read'
