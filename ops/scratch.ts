import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import cron from 'node-cron'
import { lockFile } from './file-lock.ts'

/**
 * The scratch files of this process, in a folder of its own that is made when it is first needed. The
 * folders of killed processes are deleted when a process starts, and every hour.
 */
export async function openScratch(folder: string, log: Log) {
  let own: ReturnType<typeof makeOwnFolder> | undefined
  async function sweep() {
    try {
      const swept = await sweepScratch(folder, new Date())
      if (swept.length > 0) log.info({ folders: swept }, 'left scratch files deleted')
    } catch (err) {
      log.warn({ err }, 'left scratch files could not be deleted; trying again in an hour')
    }
  }
  await sweep()
  const tick = cron.schedule(EVERY_HOUR, sweep, { noOverlap: true })
  return {
    async makeFolder() {
      const { path } = await (own ??= makeOwnFolder(folder))
      return mkdtemp(join(path, 'run-'))
    },
    async close() {
      await tick.destroy()
      const made = await own
      if (!made) return
      await rm(made.path, { recursive: true, force: true })
      made.lock?.release()
    },
  }
}

/** Deletes what processes that were killed have left, and returns the names of their folders. */
export async function sweepScratch(folder: string, now: Date): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const swept: string[] = []
  for (const name of names) {
    if (!(await isLeft(folder, name, now))) continue
    await rm(join(folder, name), { recursive: true, force: true })
    swept.push(name)
  }
  return swept
}

async function isLeft(folder: string, name: string, now: Date) {
  const path = join(folder, name)
  const changed = await stat(path).catch(() => undefined)
  const ageMs = now.getTime() - (changed?.mtimeMs ?? Infinity)
  // Releases before this one made a folder a build, without a lock.
  if (name.startsWith('dataset-')) return ageMs > LONGEST_BUILD_MS
  // A younger one may not have its lock yet.
  if (!name.startsWith(PREFIX) || ageMs < LOCKED_AFTER_MS) return false
  const lock = lockFile(join(path, LOCK))
  lock?.release()
  return lock !== undefined
}

async function makeOwnFolder(folder: string) {
  await mkdir(folder, { recursive: true })
  const path = await mkdtemp(join(folder, PREFIX))
  return { path, lock: lockFile(join(path, LOCK)) }
}

const EVERY_HOUR = '41 * * * *'
const PREFIX = 'process-'
const LOCK = 'lock'
const LOCKED_AFTER_MS = 60_000
const LONGEST_BUILD_MS = 86_400_000

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}
