import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  paginateListParts,
} from '@aws-sdk/client-s3'
import type { ListMultipartUploadsCommandOutput } from '@aws-sdk/client-s3'
import type { StoredFile } from '../../jobs/storage.ts'
import type { Guard } from './guard.ts'
import { isKey } from './keys.ts'
import { isMissing, unless } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'

/** All uploads for keys that have not come to an end, each as one file, changed when its last part came. */
export async function* listUploads(bucket: Bucket, guard: Guard): AsyncGenerator<StoredFile> {
  const { client, name: Bucket, prefix: Prefix } = bucket
  let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined =
    {}
  do {
    const list = new ListMultipartUploadsCommand({ Bucket, Prefix, ...after })
    const page: ListMultipartUploadsCommandOutput = await guard.run((abortSignal) =>
      client.send(list, { abortSignal }),
    )
    for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
      const upload = { key: Key.slice(Prefix.length), UploadId }
      if (!isKey(upload.key) || !Initiated) continue
      const found = await findParts(bucket, guard, upload)
      if (!found) continue
      const { bytes, changedAt = Initiated } = found
      yield { key: nameUpload(upload), bytes, changedAt, partOf: upload.key }
    }
    after = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      : undefined
  } while (after)
}

/**
 * Has the storage forget an upload, unless a part has come after `unchangedSince`.
 * @returns false for one that stays, or has come to its end
 */
export async function abortUpload(
  bucket: Bucket,
  guard: Guard,
  upload: Upload,
  unchangedSince: Date | undefined,
) {
  const { client, at } = bucket
  const { changedAt } = (unchangedSince && (await findParts(bucket, guard, upload))) ?? {}
  if (unchangedSince && changedAt && changedAt > unchangedSince) return false
  const abort = new AbortMultipartUploadCommand({ ...at(upload.key), UploadId: upload.UploadId })
  const aborted = await guard.run((abortSignal) =>
    unless(isMissing, client.send(abort, { abortSignal })),
  )
  return aborted !== undefined
}

/** What has come of an upload, and when; undefined for one that has come to its end. */
async function findParts({ client, at }: Bucket, guard: Guard, { key, UploadId }: Upload) {
  return guard.run(async (abortSignal) => {
    let bytes = 0
    let changedAt: Date | undefined
    const pages = paginateListParts({ client }, { ...at(key), UploadId }, { abortSignal })
    try {
      for await (const { Parts = [] } of pages) {
        for (const { Size = 0, LastModified } of Parts) {
          bytes += Size
          if (LastModified && (!changedAt || LastModified > changedAt)) changedAt = LastModified
        }
      }
      return { bytes, changedAt }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  })
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
