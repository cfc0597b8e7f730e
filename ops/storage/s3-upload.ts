import { PutObjectCommand } from '@aws-sdk/client-s3'
import { limitAtOnce } from './at-once.ts'
import type { Guard } from './guard.ts'
import { PART_BYTES } from './parts.ts'
import type { Part } from './parts.ts'
import { isRefused, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'
import { beginMultipart, SENT_MS, SEND_TRY_MS } from './s3-multipart.ts'
import type { Condition } from './s3-multipart.ts'

/** What uploads into a bucket, for all requests and jobs of the process. */
export function openUploader(bucket: Bucket, guard: Guard) {
  const { client, at } = bucket
  const limit = limitAtOnce(SENT_AT_ONCE)
  const idle: Buffer[] = []

  /** The bytes of a part are in memory only while it is sent, in buffers that are used again. */
  async function inTurn<T>(send: (buffer: Buffer) => Promise<T>): Promise<T> {
    return limit(async () => {
      const buffer = idle.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES)
      return send(buffer).finally(() => idle.push(buffer))
    })
  }

  async function putWhole(key: string, part: Part, buffer: Buffer, condition?: Condition) {
    const put = { ...at(key), ...condition, Body: await part.read(buffer) }
    const done = await guard.runSlow(
      (abortSignal) =>
        unless(
          isRefused,
          client.send(new PutObjectCommand(put), { abortSignal, requestTimeout: SEND_TRY_MS }),
        ),
      SENT_MS,
    )
    return done && part.bytes
  }

  async function putParts(key: string, parts: AsyncIterable<Part>, condition?: Condition) {
    const object = await beginMultipart(bucket, guard, key)
    let sending: Promise<void> | undefined
    try {
      // A part is sent while the next one comes.
      for await (const part of parts) {
        await sending
        sending = inTurn((buffer) => object.send(part, buffer))
        sending.catch(() => undefined)
        if (part.isLast) await sending
      }
      return await object.complete(condition)
    } catch (error) {
      await object.giveUp()
      throw error
    }
  }

  /**
   * Makes an object of parts. It appears when all of it is stored, and nothing is left of one that fails.
   * @returns its size; undefined where the condition does not hold
   */
  return async function upload(
    key: string,
    parts: AsyncGenerator<Part>,
    condition?: Condition,
  ): Promise<number | undefined> {
    try {
      const { value: first } = await parts.next()
      if (!first) throw new Error('An object has at least one part')
      if (first.isLast) return await inTurn((buffer) => putWhole(key, first, buffer, condition))
      return await putParts(key, startingWith(first, parts), condition)
    } finally {
      await parts.return(undefined)
    }
  }
}

async function* startingWith<T>(first: T, others: AsyncIterable<T>) {
  yield first
  yield* others
}

/** 20 MiB, on a line that takes that many parts at once. */
const SENT_AT_ONCE = 4
