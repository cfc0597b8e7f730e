import { DatabaseSync } from 'node:sqlite'

/** A lock that this process holds. The kernel drops it with the process, so it is never stale. */
export interface FileLock {
  release(): void
}

/**
 * Takes the write lock of a file, which is made if it is not there; undefined when another process has
 * it, on this machine or in another container of it.
 */
export function lockFile(path: string): FileLock | undefined {
  const lock = new DatabaseSync(path, { timeout: 50 })
  if (!tryLock(lock)) {
    lock.close()
    return undefined
  }
  held.add(lock)
  return {
    release() {
      if (held.delete(lock)) lock.close()
    },
  }
}

/** Process id of who has taken, or had last taken, the lock of a file. */
export function findLockOwner(path: string): number {
  const lock = new DatabaseSync(path, { timeout: 50 })
  try {
    return Number(lock.prepare('PRAGMA user_version').get()?.['user_version'])
  } finally {
    lock.close()
  }
}

function tryLock(lock: DatabaseSync) {
  try {
    lock.exec(`PRAGMA journal_mode = memory; PRAGMA user_version = ${process.pid}; BEGIN IMMEDIATE`)
    return true
  } catch (error) {
    if (error instanceof Error && error.message === 'database is locked') return false
    throw error
  }
}

/** Collected as garbage, a lock would be released. */
const held = new Set<DatabaseSync>()
