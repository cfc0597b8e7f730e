import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  paginateListParts,
} from '@aws-sdk/client-s3'
import type {
  ListMultipartUploadsCommandOutput,
  ListObjectsV2CommandOutput,
  MultipartUpload,
} from '@aws-sdk/client-s3'
import type { StoredFile } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isKey, isPartKey } from './keys.ts'
import { isMissing } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'

/** All objects whose names are keys, and the uploads that have not come to an end. */
export async function* listBucket(bucket: Bucket, guard: Guard): AsyncGenerator<StoredFile> {
  yield* listObjects(bucket, guard)
  yield* listUploads(bucket, guard)
}

async function* listObjects(
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
      if (isKey(key) && changedAt) yield { key, bytes, changedAt, isPart: isPartKey(key) }
    }
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (ContinuationToken)
}

async function* listUploads(bucket: Bucket, guard: Guard): AsyncGenerator<StoredFile> {
  const { client, name: Bucket, prefix: Prefix } = bucket
  let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined =
    {}
  do {
    const list = new ListMultipartUploadsCommand({ Bucket, Prefix, ...after })
    const page: ListMultipartUploadsCommandOutput = await guard.run((abortSignal) =>
      client.send(list, { abortSignal }),
    )
    for (const upload of page.Uploads ?? []) {
      const file = await describeUpload(bucket, guard, upload)
      if (file) yield file
    }
    after = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      : undefined
  } while (after)
}

/** Undefined for one that is not ours, or that has come to its end meanwhile. */
async function describeUpload(
  { client, name: Bucket, prefix }: Bucket,
  guard: Guard,
  { Key = '', UploadId = '', Initiated: changedAt }: MultipartUpload,
): Promise<StoredFile | undefined> {
  const key = Key.slice(prefix.length)
  if (!isKey(key) || !changedAt) return undefined
  const bytes = await guard.run(async () => {
    let sum = 0
    try {
      for await (const { Parts = [] } of paginateListParts({ client }, { Bucket, Key, UploadId }))
        for (const { Size = 0 } of Parts) sum += Size
      return sum
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  })
  return bytes === undefined
    ? undefined
    : { key: nameUpload({ key, UploadId }), bytes, changedAt, isPart: true }
}

/** An upload that has not come to an end, as a key: ids have characters that keys do not. */
function nameUpload({ key, UploadId }: Upload) {
  return `${key}.${Buffer.from(UploadId).toString('base64url')}.upload`
}

/** Undefined for the key of an object. */
export function readUploadName(name: string): Upload | undefined {
  const [, key, id] = UPLOAD.exec(name) ?? []
  return key && id ? { key, UploadId: Buffer.from(id, 'base64url').toString() } : undefined
}

interface Upload {
  readonly key: string
  readonly UploadId: string
}

const UPLOAD = /^(.+)\.([\w-]+)\.upload$/
