import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Place } from './guard.ts'
import { MARK } from './mark.ts'

/** A folder, local or mounted, as a place for a storage. It is made when a database first uses it. */
export function folderPlace(folder: string): Place {
  const path = join(folder, MARK)
  return {
    name: `storage folder ${folder}`,
    isMountable: true,
    readMark: () =>
      readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      }),
    async makeMark(text) {
      await mkdir(folder, { recursive: true })
      const temporary = `${path}.${randomUUID()}`
      await writeFile(temporary, text, { flush: true })
      await rename(temporary, path)
    },
    commandFor: (id) => `echo ${id} > ${path}`,
    tryToWrite: () => tryToWrite(folder),
    explain: (error) => ('syscall' in error ? error.message : undefined),
  }
}

/** Writes as much as shows a full disk. What a killed process leaves of it is swept as a part. */
async function tryToWrite(folder: string) {
  const path = join(folder, `look.${randomUUID()}.part`)
  try {
    const file = await open(path, 'wx')
    try {
      await file.writeFile(Buffer.alloc(LOOK_BYTES))
      await file.sync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}

const LOOK_BYTES = 64 << 10
