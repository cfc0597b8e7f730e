import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Storage } from '../jobs/storage.ts'

/** Storage in a local folder. A key appears only when its file is complete and on the disk. */
export function openFolderStorage(folder: string): Storage {
  function pathOf(key: string) {
    if (!KEY.test(key)) throw new TypeError(`Not a storage key: ${key}`)
    return join(folder, key)
  }
  async function publish(temporary: string, path: string) {
    const file = await open(temporary, 'r+')
    await file.sync()
    await file.close()
    await rename(temporary, path)
  }
  return {
    async write(key, source) {
      const path = pathOf(key)
      const temporary = `${path}.${randomUUID()}.part`
      await mkdir(dirname(path), { recursive: true })
      try {
        await pipeline(source, createWriteStream(temporary, { highWaterMark: WRITE_BUFFER_BYTES }))
        await publish(temporary, path)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
      return (await stat(path)).size
    },
    async read(key, { start, end } = {}) {
      const path = pathOf(key)
      await stat(path)
      return createReadStream(path, {
        highWaterMark: READ_BUFFER_BYTES,
        ...(start !== undefined && { start }),
        ...(end !== undefined && { end: end - 1 }),
      })
    },
    async adopt(key, localPath) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true })
      const temporary = `${path}.${randomUUID()}.part`
      await rename(localPath, temporary).catch(async () => {
        // The folder is on another file system.
        await copyFile(localPath, temporary)
        await rm(localPath)
      })
      await publish(temporary, path)
    },
    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
  }
}

/** Slash-separated words of letters, digits, dots and hyphens; no word begins with a dot. */
const KEY = /^[a-z0-9][\w.-]*(\/[a-z0-9][\w.-]*)*$/i
const READ_BUFFER_BYTES = 1 << 20
const WRITE_BUFFER_BYTES = 1 << 20
