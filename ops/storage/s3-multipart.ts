import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { CompletedPart } from '@aws-sdk/client-s3'
import type { Guard } from './guard.ts'
import type { Part } from './parts.ts'
import { isRefused, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'
import { findObject } from './s3-object.ts'

/** What must be true of the object that is there for another one to take its place. */
export type Condition = { readonly IfNoneMatch: '*' } | { readonly IfMatch: string | undefined }

/** Begins an object that is sent part by part, and appears when it is completed. */
export async function beginMultipart(bucket: Bucket, guard: Guard, key: string) {
  const { client, at } = bucket
  const { UploadId } = await guard.run((abortSignal) =>
    client.send(new CreateMultipartUploadCommand(at(key)), { abortSignal }),
  )
  const upload = { ...at(key), UploadId }
  const stop = new AbortController()
  const sent: CompletedPart[] = []
  let total = 0
  let sending: Promise<unknown> | undefined

  async function giveUp() {
    stop.abort()
    // What would still come in after its end would be kept.
    await sending?.catch(() => undefined)
    const abort = new AbortMultipartUploadCommand(upload)
    await guard
      .run((abortSignal) => client.send(abort, { abortSignal }))
      // What a storage that is away keeps of it is swept later.
      .catch(() => undefined)
  }

  return {
    /** Sends the next part; one at a time. */
    async send(part: Part, buffer: Buffer) {
      const Body = await part.read(buffer)
      const next = { ...upload, PartNumber: sent.length + 1, Body }
      const answer = guard.runSlow((late) => {
        const abortSignal = AbortSignal.any([late, stop.signal])
        return client.send(new UploadPartCommand(next), {
          abortSignal,
          requestTimeout: SEND_TRY_MS,
        })
      }, SENT_MS)
      sending = answer
      const { ETag } = await answer
      sent.push({ PartNumber: next.PartNumber, ETag })
      total += part.bytes
    },
    /** @returns the size of the object; undefined where the condition does not hold */
    async complete(condition?: Condition): Promise<number | undefined> {
      const whole = { ...upload, ...condition, MultipartUpload: { Parts: sent } }
      const completed = await guard.runSlow(
        (abortSignal) =>
          unless(
            isRefused,
            client.send(new CompleteMultipartUploadCommand(whole), {
              abortSignal,
              requestTimeout: SEND_TRY_MS,
            }),
          ),
        SENT_MS,
      )
      if (completed) return total
      // It was completed before, where only the answer was lost on its way.
      const found = await findObject(bucket, guard, key)
      const isSame = found?.bytes === total && found.etag?.endsWith(`-${sent.length}"`)
      await giveUp()
      return isSame ? total : undefined
    },
    /** Ends what is being sent, and has the storage forget what was. */
    giveUp,
  }
}

/** A part may be slow while the storage answers others, and ends at last after this. */
export const SENT_MS = 300_000
/** Of each try to send it. */
export const SEND_TRY_MS = SENT_MS / 3
