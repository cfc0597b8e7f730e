import { openFolderStorage } from '../../ops/storage.ts'
import type { GuardLimits } from '../../ops/storage-guard.ts'

/** A storage folder that belongs to no database. */
export function openTestStorage(folder: string, limits?: GuardLimits) {
  let isMarked = false
  const owner = {
    find: async () => ({ id: 'test', isMarked }),
    keepMarked: async () => {
      isMarked = true
    },
  }
  return openFolderStorage(folder, owner, limits)
}
