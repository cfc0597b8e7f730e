import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises'
import type { Dir } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { FileMissing } from '../../jobs/storage.ts'
import type { ReadOptions, Storage, StoredFile } from '../../jobs/storage.ts'
import { folderPlace } from './folder-place.ts'
import { guardPlace } from './guard.ts'
import type { Guard, GuardLimits } from './guard.ts'
import { isKey, readPartName, requireKey } from './keys.ts'
import type { StorageOwner } from './mark.ts'

/** Storage in a folder, local or mounted. A key appears only when its file is complete and on the disk. */
export function openFolderStorage(
  folder: string,
  owner: StorageOwner,
  limits: GuardLimits = LIMITS,
): Storage {
  const guard = guardPlace(folderPlace(folder), owner, limits)
  function pathOf(key: string) {
    requireKey(key)
    return join(folder, key)
  }
  /** A name beside the key's, in a folder that is there. */
  async function prepare(path: string) {
    await guard.require('write')
    await guard.run(() => mkdir(dirname(path), { recursive: true }))
    return `${path}.${randomUUID()}.part`
  }
  async function measure(key: string) {
    await guard.require('read')
    return guard.run(() => sizeOf(pathOf(key), key))
  }
  return {
    async write(key, source) {
      const path = pathOf(key)
      const temporary = await prepare(path)
      return intoPart(guard, temporary, async () => {
        const file = await openInTime(guard, () => open(temporary, 'wx'))
        const bytes = await closing(guard, file, () => writeAll(guard, file, source))
        await guard.run(() => rename(temporary, path))
        return bytes
      })
    },
    async read(key, options) {
      await measure(key)
      return Readable.from(readBytes(guard, pathOf(key), options), { objectMode: false })
    },
    measure,
    async adopt(key, localPath) {
      const path = pathOf(key)
      await stat(localPath)
      const temporary = await prepare(path)
      await intoPart(guard, temporary, async () => {
        await guard.run(() => move(localPath, temporary), DURABLE_MS)
        const file = await openInTime(guard, () => open(temporary, 'r+'))
        await closing(guard, file, () => guard.run(() => file.sync(), DURABLE_MS))
        await guard.run(() => rename(temporary, path))
      })
    },
    async delete(key, unchangedSince) {
      const path = pathOf(key)
      await guard.require('read')
      return guard.run(() => remove(path, unchangedSince))
    },
    async *list() {
      await guard.require('read')
      yield* listFolder(guard, folder, '')
    },
    linkTo: async () => undefined,
    findFault: guard.findFault,
    // A look writes and deletes a file.
    examine: () => guard.require('write'),
  }
}

/**
 * Opens a file or a folder, which is closed again if it opens only after the deadline. Node ends a process
 * that loses an open file.
 */
async function openInTime<T extends FileHandle | Dir>(guard: Guard, opening: () => Promise<T>) {
  return guard.run(async (late) => {
    const opened = await opening()
    if (!late.aborted) return opened
    await opened.close().catch(() => undefined)
    throw late.reason
  })
}

/** Runs the write of a part, and deletes the part if that fails. */
async function intoPart<T>(guard: Guard, part: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    // What a storage that is away keeps of it is swept later.
    await guard.run(() => rm(part, { force: true }), CLEAN_MS).catch(() => undefined)
    throw error
  }
}

/** Closes the file after its use; after a failed one nobody waits for that. */
async function closing<T>(guard: Guard, file: FileHandle, use: () => Promise<T>) {
  try {
    const result = await use()
    await guard.run(() => file.close())
    return result
  } catch (error) {
    file.close().catch(() => undefined)
    throw error
  }
}

/** Gathers small parts in one buffer, so that each write is worth its way and none takes memory of its own. */
async function writeAll(guard: Guard, file: FileHandle, source: AsyncIterable<Uint8Array>) {
  const step = Buffer.allocUnsafeSlow(STEP_BYTES)
  let [gathered, total] = [0, 0]
  async function flush() {
    await guard.run(() => file.writeFile(step.subarray(0, gathered)))
    gathered = 0
  }
  for await (const part of source) {
    for (let at = 0; at < part.length;) {
      const taken = Math.min(part.length - at, STEP_BYTES - gathered)
      step.set(part.subarray(at, at + taken), gathered)
      gathered += taken
      at += taken
      if (gathered === STEP_BYTES) await flush()
    }
    total += part.length
  }
  await flush()
  await guard.run(() => file.sync(), DURABLE_MS)
  return total
}

async function* readBytes(
  guard: Guard,
  path: string,
  { start = 0, end = Infinity, allocate = Buffer.allocUnsafe }: ReadOptions = {},
) {
  const file = await openInTime(guard, () => open(path))
  try {
    for (let at = start; at < end;) {
      const buffer = allocate(Math.min(STEP_BYTES, end - at))
      const { bytesRead } = await guard.run(() => file.read(buffer, 0, buffer.length, at))
      if (bytesRead === 0) return
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    // Nobody waits for the end of what was read, and a file that hangs would not close.
    file.close().catch(() => undefined)
  }
}

async function sizeOf(path: string, key: string) {
  const found = await stat(path).catch(missing)
  if (found) return found.size
  throw new FileMissing(`There is no stored file ${key}`)
}

async function remove(path: string, unchangedSince?: Date) {
  const found = unchangedSince && (await stat(path).catch(missing))
  if (unchangedSince && (!found || found.mtime > unchangedSince)) return false
  await rm(path, { force: true })
  return true
}

async function move(from: string, to: string) {
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EXDEV') throw error
    await copyFile(from, to)
    await rm(from)
  })
}

async function* listFolder(guard: Guard, path: string, prefix: string): AsyncGenerator<StoredFile> {
  const folder = await openInTime(guard, () => opendir(path))
  try {
    for (;;) {
      const entry = await guard.run(() => folder.read())
      if (!entry) return
      const [key, inside] = [`${prefix}${entry.name}`, join(path, entry.name)]
      if (!isKey(key)) continue
      if (entry.isDirectory()) yield* listFolder(guard, inside, `${key}/`)
      const found = entry.isFile() && (await guard.run(() => stat(inside).catch(missing)))
      if (!found) continue
      yield { key, bytes: found.size, changedAt: found.mtime, partOf: readPartName(key) }
    }
  } finally {
    folder.close().catch(() => undefined)
  }
}

function missing(error: NodeJS.ErrnoException) {
  if (error.code === 'ENOENT') return undefined
  throw error
}

const STEP_BYTES = 1 << 20
const CLEAN_MS = 1000
/** What a disk may take to make gigabytes durable, and to copy a file of a dataset. */
const DURABLE_MS = 300_000
/** A busy disk may take seconds for a step, other than making megabytes durable. */
const LIMITS: GuardLimits = { seenMs: 5000, lookMs: 10_000, answerMs: 10_000 }
