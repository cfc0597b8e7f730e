import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openFolderStorage } from '../../ops/storage/folder.ts'
import type { GuardLimits } from '../../ops/storage/guard.ts'
import { openS3Storage } from '../../ops/storage/s3.ts'
import { readStorageUrl } from '../../ops/storage/url.ts'
import { startS3 } from './s3.ts'

/** A storage folder that belongs to no database. */
export function openTestStorage(folder: string, limits?: GuardLimits, id = 'test') {
  return openFolderStorage(folder, ownerOf(id), limits)
}

interface S3Options {
  readonly pageSize?: number
  /** Default one of the test. */
  readonly scratchDir?: string
  /** Where the storage looks for the S3. */
  readonly url?: string
}

/** An S3 with a storage that belongs to no database. */
export async function openTestS3(t: Test, limits?: GuardLimits, options: S3Options = {}) {
  const s3 = await startS3(t, options)
  const { scratchDir = await makeFolder(t), url = s3.url } = options
  process.env['AWS_ENDPOINT_URL_S3'] = url
  const storage = openAs('test')
  return { s3, scratchDir, storage, openAs }

  /** As another process does, of a database of this name. */
  function openAs(id: string) {
    const address = readStorageUrl(s3.env.STORAGE_URL, true)
    if (address.kind !== 's3') throw new Error('Not of S3')
    return openS3Storage({ ...address, scratchDir }, ownerOf(id), limits)
  }
}

export async function makeFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function ownerOf(id: string) {
  let isMarked = false
  return {
    find: async () => ({ id, isMarked }),
    keepMarked: async () => {
      isMarked = true
    },
  }
}
