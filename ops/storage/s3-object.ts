import { HeadObjectCommand } from '@aws-sdk/client-s3'
import { FileMissing } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isMissing } from './s3-client.ts'
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
    client.send(new HeadObjectCommand(at(key)), { abortSignal }).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    }),
  )
  if (!found) {
    await guard.requireMark()
    return undefined
  }
  const { ContentLength: bytes = 0, LastModified: changedAt = new Date(0), ETag: etag } = found
  return { bytes, changedAt, etag }
}

/** @throws StorageAway like `findObject` */
export async function fileMissing(guard: Guard, key: string) {
  await guard.requireMark()
  return new FileMissing(`There is no stored file ${key}`)
}
