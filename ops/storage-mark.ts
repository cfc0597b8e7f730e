import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StorageAway } from '../jobs/storage.ts'

/** Which storage folder is the right one: the one whose mark holds the id that the database knows. */
export interface StorageOwner {
  /** `isMarked`: some process has made the mark, so that a folder without it is another one. */
  find(): Promise<{ readonly id: string; readonly isMarked: boolean }>
  keepMarked(): Promise<void>
}

/** Does what uses the folder, and makes a StorageAway of its errors. */
export type UseFolder = <T>(work: () => Promise<T>) => Promise<T>

/**
 * The mark of a storage folder. An empty folder where a file system should be mounted looks like a
 * storage that has lost everything, and a storage of another database like one full of files that nobody
 * needs. So a mark is made when a database first uses a folder, and without it nothing is read, written
 * or deleted.
 */
export function openMark(folder: string, owner: StorageOwner) {
  const path = join(folder, MARK)
  let owned: Awaited<ReturnType<StorageOwner['find']>> | undefined

  async function own(use: UseFolder) {
    const found = await owner.find()
    await use(async () => {
      if (found.isMarked || (await readMark(path)) !== undefined) return
      await makeMark(folder, path, found.id)
    })
    return found
  }

  return {
    /** @throws StorageAway for a folder without the mark */
    async require(use: UseFolder) {
      const { id, isMarked } = owned ?? (await own(use))
      await use(async () => {
        if ((await readMark(path)) !== id) throw new StorageAway(strange(folder, path, id))
      })
      if (!isMarked) await owner.keepMarked()
      owned = { id, isMarked: true }
    },
  }
}

function strange(folder: string, path: string, id: string) {
  return `The storage folder ${folder} does not have the mark of this database: it is not mounted, or belongs to another one. If it is the right one: echo ${id} > ${path}`
}

async function readMark(path: string) {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text?.trim()
}

/** Several processes may do so at once; the mark appears whole, and all write the same. */
async function makeMark(folder: string, path: string, id: string) {
  await mkdir(folder, { recursive: true })
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, `${id}\n`, { flush: true })
  await rename(temporary, path)
}

/** Begins with a dot, which no key does. */
const MARK = '.storage'
