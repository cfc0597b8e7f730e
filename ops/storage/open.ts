import type { Storage } from '../../jobs/storage.ts'
import { findStorageMark, keepStorageMarked } from '../../sql/core/storage-marks.ts'
import type { Sql } from '../../sql/core/db.ts'
import type { Config } from '../config.ts'
import { openFolderStorage } from './folder.ts'

/** The storage of a database. */
export async function openStorage(
  { storage, SCRATCH_DIR }: Pick<Config, 'storage' | 'SCRATCH_DIR'>,
  sql: Sql,
): Promise<Storage> {
  const owner = { find: () => findStorageMark(sql), keepMarked: () => keepStorageMarked(sql) }
  if (storage.kind === 'folder') return openFolderStorage(storage.folder, owner)
  // Its SDK takes 30 MiB and a fifth of a second, which a folder does not need.
  const { openS3Storage } = await import('./s3.ts')
  return openS3Storage({ ...storage, scratchDir: SCRATCH_DIR }, owner)
}
