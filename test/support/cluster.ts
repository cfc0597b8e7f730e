import { createHash } from 'node:crypto'
import { mkdir, rm, statfs, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { findPostgres } from '../../ops/postgres.ts'

/** Data folder of the PostgreSQL that all test files share, or a link to it. */
export const CLUSTER_DIR = resolve('.data/test-cluster')

/** Address of the server the tests use. */
export async function serverUrl() {
  const url = process.env['DATABASE_URL'] ?? (await findPostgres(CLUSTER_DIR))
  if (!url) throw new Error('No test database runs: start the tests with `npm test`')
  return url
}

/**
 * Keeps the cluster in memory where there is much of it. A database is a thousand files, and before ext4
 * makes a file it looks at those that were deleted in the last minutes: on a disk a database takes a second
 * of processor time to create, in memory a tenth.
 */
export async function placeInMemory() {
  if (!(await hasRoom())) return
  await mkdir(MEMORY_DIR, { recursive: true })
  await mkdir(dirname(CLUSTER_DIR), { recursive: true })
  await symlink(join(MEMORY_DIR, 'cluster'), CLUSTER_DIR).catch((error: NodeJS.ErrnoException) => {
    // One that was interrupted left it.
    if (error.code !== 'EEXIST') throw error
  })
}

export async function removeCluster() {
  for (const path of [CLUSTER_DIR, `${CLUSTER_DIR}.lock`, MEMORY_DIR]) {
    await rm(path, { recursive: true, force: true })
  }
}

async function hasRoom() {
  const { bavail, bsize } = await statfs(SHARED_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  return Math.min(bavail * bsize, process.availableMemory()) > MIN_MEMORY
}

const SHARED_MEMORY = '/dev/shm'
/** One of each checkout. */
const MEMORY_DIR = join(
  SHARED_MEMORY,
  `adl-test-${createHash('sha256').update(CLUSTER_DIR).digest('hex').slice(0, 12)}`,
)
/** Thirty times what a run was seen to use. */
const MIN_MEMORY = 8 * 2 ** 30
