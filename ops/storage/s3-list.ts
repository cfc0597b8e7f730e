import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3'
import type { StoredFile } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isKey } from './keys.ts'
import type { Bucket } from './s3-client.ts'

/** All objects whose names are keys. None is a part: those of S3 are no objects. */
export async function* listObjects(
  { client, name: Bucket, prefix: Prefix }: Bucket,
  guard: Guard,
): AsyncGenerator<StoredFile> {
  let ContinuationToken: string | undefined
  do {
    const list = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })
    const page: ListObjectsV2CommandOutput = await guard.run((abortSignal) =>
      client.send(list, { abortSignal }),
    )
    for (const { Key = '', Size: bytes = 0, LastModified: changedAt } of page.Contents ?? []) {
      const key = Key.slice(Prefix.length)
      if (isKey(key) && changedAt) yield { key, bytes, changedAt, partOf: undefined }
    }
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (ContinuationToken)
}
