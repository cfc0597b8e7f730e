import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { FileMissing } from '../../jobs/storage.ts'
import type { Place } from './guard.ts'
import { MARK } from './mark.ts'
import { explain, isConflict, isMissing, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'

/** A bucket, or the part of one with a prefix, as a place for a storage. The bucket must be there. */
export function s3Place(bucket: Bucket): Place {
  const { client, at, name, prefix } = bucket
  const url = `s3://${name}/${prefix}`
  return {
    name: `storage ${url}`,
    isMountable: false,
    async readMark(abortSignal) {
      const get = new GetObjectCommand(at(MARK))
      const found = await unless(isMissing, client.send(get, { abortSignal }))
      return found?.Body?.transformToString()
    },
    async makeMark(text, abortSignal) {
      const put = new PutObjectCommand({ ...at(MARK), Body: Buffer.from(text), IfNoneMatch: '*' })
      // Where it is there, another process has made it.
      await unless(isConflict, client.send(put, { abortSignal }))
    },
    commandFor: (id) => `echo ${id} | aws s3 cp - ${url}${MARK}`,
    tryToWrite: (abortSignal) => tryToWrite(bucket, abortSignal),
    explain: (error) => (error instanceof FileMissing ? undefined : explain(error)),
  }
}

/**
 * Begins an object and gives it up again: of one that was written and deleted, a bucket with versions would
 * keep two of them for each look.
 */
async function tryToWrite({ client, at }: Bucket, abortSignal: AbortSignal) {
  const object = at('look')
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(object), { abortSignal })
  const upload = { ...object, UploadId }
  try {
    const part = { ...upload, PartNumber: 1, Body: Buffer.alloc(LOOK_BYTES) }
    await client.send(new UploadPartCommand(part), { abortSignal })
  } finally {
    const abort = new AbortMultipartUploadCommand(upload)
    // It is missing where only the answer to a try before was lost.
    await unless(isMissing, client.send(abort, { abortSignal }))
  }
}

const LOOK_BYTES = 1024
