import { CreateMultipartUploadCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { randomUUID } from 'node:crypto'
import { StorageAway } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isConflict, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'
import { listObjects } from './s3-list.ts'
import { deleteObject } from './s3-object.ts'
import { abortUpload, listUploads } from './s3-unfinished.ts'

/**
 * Tries what a look leaves out: to list objects and unfinished uploads, to write on a condition, and to
 * delete. Without one of these the service runs, and keeps for ever what it should delete.
 * @throws StorageAway
 */
export async function examineBucket(bucket: Bucket, guard: Guard) {
  await listBoth(bucket, guard)
  const key = `doctor-${randomUUID()}`
  await putNew(bucket, guard, key)
  try {
    if (await putNew(bucket, guard, key)) {
      throw new StorageAway('The storage ignores If-None-Match: it must know conditional writes')
    }
  } finally {
    await deleteObject(bucket, guard, key, undefined)
  }
}

/** With an unfinished upload there, whose parts are listed too. */
async function listBoth(bucket: Bucket, guard: Guard) {
  const { client, at } = bucket
  const key = 'look'
  const { UploadId = '' } = await guard.run((abortSignal) =>
    client.send(new CreateMultipartUploadCommand(at(key)), { abortSignal }),
  )
  try {
    for (const list of [listObjects, listUploads]) {
      for await (const _ of list(bucket, guard)) break
    }
  } finally {
    await abortUpload(bucket, guard, { key, UploadId }, undefined)
  }
}

/** Undefined where the object is there already. */
async function putNew({ client, at }: Bucket, guard: Guard, key: string) {
  const put = new PutObjectCommand({ ...at(key), Body: Buffer.alloc(0), IfNoneMatch: '*' })
  return guard.run((abortSignal) => unless(isConflict, client.send(put, { abortSignal })))
}
