import { GetObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { open, rm } from 'node:fs/promises'
import { StorageAway } from '../../jobs/storage.ts'
import type { Storage } from '../../jobs/storage.ts'
import { guardPlace } from './guard.ts'
import type { GuardLimits } from './guard.ts'
import { requireKey } from './keys.ts'
import type { StorageOwner } from './mark.ts'
import { fileParts, spoolParts } from './parts.ts'
import { openS3Client } from './s3-client.ts'
import type { Bucket } from './s3-client.ts'
import { examineBucket } from './s3-examine.ts'
import { listObjects } from './s3-list.ts'
import { deleteObject, fileMissing, findObject } from './s3-object.ts'
import { s3Place } from './s3-place.ts'
import { readObject } from './s3-read.ts'
import { abortUpload, listUploads, readUploadName } from './s3-unfinished.ts'
import { openUploader } from './s3-upload.ts'
import type { StorageAddress } from './url.ts'

type Address = Extract<StorageAddress, { kind: 's3' }> & { readonly scratchDir: string }

/** Storage in a bucket of S3, or of what speaks its protocol and knows conditional writes. */
export function openS3Storage(
  { bucket: name, prefix, pathStyle, scratchDir }: Address,
  owner: StorageOwner,
  limits: GuardLimits = LIMITS,
): Storage {
  const client = openS3Client(pathStyle)
  const at = (key: string) => ({ Bucket: name, Key: `${prefix}${key}` })
  const bucket: Bucket = { client, at, name, prefix }
  const guard = guardPlace(s3Place(bucket), owner, limits)
  const upload = openUploader(bucket, guard)

  async function measure(key: string) {
    requireKey(key)
    await guard.require('read')
    const found = await findObject(bucket, guard, key)
    if (!found) throw await fileMissing(guard, key)
    return found.bytes
  }

  return {
    async write(key, source) {
      requireKey(key)
      await guard.require('write')
      const bytes = await upload(key, spoolParts(source, scratchDir))
      if (bytes === undefined)
        throw new StorageAway(`The storage did not keep what was written as ${key}`)
      return bytes
    },

    async read(key, { start = 0, end = Infinity } = {}) {
      requireKey(key)
      await guard.require('read')
      return readObject(bucket, guard, key, { start, end })
    },

    measure,

    /**
     * A file of the same size that is young is left alone: it is the same, and somebody may be reading it.
     * One that has been there for long may be about to be swept, and one of another size is damaged; both
     * are written anew. A write counts only if the file is still as it was seen.
     */
    async adopt(key, localPath) {
      requireKey(key)
      const file = await open(localPath)
      try {
        const { size } = await file.stat()
        await guard.require('write')
        for (let tries = 0; ; tries++) {
          const there = await findObject(bucket, guard, key)
          if (there?.bytes === size && Date.now() - there.changedAt.getTime() < YOUNG_MS) break
          const condition = there ? { IfMatch: there.etag } : { IfNoneMatch: '*' as const }
          if ((await upload(key, fileParts(file, size), condition)) !== undefined) break
          if (tries === MAX_TRIES) throw new StorageAway(`The storage refuses to store ${key}`)
        }
      } finally {
        await file.close()
      }
      await rm(localPath)
    },

    async delete(key, unchangedSince) {
      requireKey(key)
      await guard.require('read')
      const unfinished = readUploadName(key)
      if (unfinished) return abortUpload(bucket, guard, unfinished, unchangedSince)
      return deleteObject(bucket, guard, key, unchangedSince)
    },

    async *list() {
      await guard.require('read')
      yield* listObjects(bucket, guard)
      yield* listUploads(bucket, guard)
    },

    async linkTo(key, { seconds, contentType, contentDisposition }) {
      requireKey(key)
      const get = new GetObjectCommand({
        ...at(key),
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition,
      })
      // As other requests are signed: by the clock of the server, where that of this machine is wrong.
      const signingDate = new Date(Date.now() + client.config.systemClockOffset)
      return guard.run(() => getSignedUrl(client, get, { expiresIn: seconds, signingDate }))
    },

    findFault: guard.findFault,

    async examine() {
      await guard.require('write')
      await examineBucket(bucket, guard)
    },
  }
}

/** A look is four requests, so its result holds longer than that of one at a folder. */
const LIMITS: GuardLimits = { seenMs: 10_000, lookMs: 10_000, answerMs: 10_000 }
/** Far from the day after which files are swept that nobody needs. */
const YOUNG_MS = 3_600_000
const MAX_TRIES = 3
