import { DeleteObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3'
import { FileMissing } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isMissing, isRefused, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'

/** What is known of an object that is there. */
export interface FoundObject {
  readonly bytes: number
  /** Whole seconds. */
  readonly changedAt: Date
  readonly etag: string | undefined
}

/** @throws StorageAway also where the bucket is gone, or is another one by now */
export async function findObject(
  { client, at }: Bucket,
  guard: Guard,
  key: string,
): Promise<FoundObject | undefined> {
  const found = await guard.run((abortSignal) =>
    unless(isMissing, client.send(new HeadObjectCommand(at(key)), { abortSignal })),
  )
  if (!found) {
    await guard.requireMark()
    return undefined
  }
  const { ContentLength: bytes = 0, LastModified: changedAt = new Date(0), ETag: etag } = found
  return { bytes, changedAt, etag }
}

/**
 * Deletes an object, unless it was changed after `unchangedSince`. Other bytes that are written while this
 * looks at it stay. The same bytes, written again in these milliseconds, are deleted: they have the same tag.
 * @returns false for one that stays, or is not there
 */
export async function deleteObject(
  bucket: Bucket,
  guard: Guard,
  key: string,
  unchangedSince: Date | undefined,
) {
  const { client, at } = bucket
  const found = unchangedSince && (await findObject(bucket, guard, key))
  if (unchangedSince && (!found || found.changedAt > unchangedSince)) return false
  const condition = found?.etag ? { IfMatch: found.etag } : {}
  const remove = new DeleteObjectCommand({ ...at(key), ...condition })
  const removed = await guard.run((abortSignal) =>
    unless(isRefused, client.send(remove, { abortSignal })),
  )
  return removed !== undefined
}

/** @throws StorageAway like `findObject` */
export async function fileMissing(guard: Guard, key: string) {
  await guard.requireMark()
  return new FileMissing(`There is no stored file ${key}`)
}
