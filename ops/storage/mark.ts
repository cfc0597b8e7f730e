import { StorageAway } from '../../jobs/storage.ts'

/** Which storage is the right one: the one whose mark holds the id that the database knows. */
export interface StorageOwner {
  /** `isMarked`: some process has made the mark, so that a place without it is another one. */
  find(): Promise<{ readonly id: string; readonly isMarked: boolean }>
  keepMarked(): Promise<void>
}

/** A place that can have a mark. */
export interface Markable {
  /** For sentences: `storage folder /data/storage`. */
  readonly name: string
  /** The text of the mark; undefined where there is none. */
  readMark(signal: AbortSignal): Promise<string | undefined>
  /** Several processes may do so at once; the mark appears whole, and all write the same. */
  makeMark(text: string, signal: AbortSignal): Promise<void>
  /** The command by which the operator makes the mark. */
  commandFor(id: string): string
}

/** Does what uses the place, and makes a StorageAway of its errors. */
export type UsePlace = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>

/**
 * The mark of a storage. An empty folder where a file system should be mounted looks like a storage that
 * has lost everything, and a storage of another database like one full of files that nobody needs. So a
 * mark is made when a database first uses a place, and without it nothing is read, written or deleted.
 */
export function openMark(place: Markable, owner: StorageOwner) {
  let owned: Awaited<ReturnType<StorageOwner['find']>> | undefined

  const readMark = async (signal: AbortSignal) => (await place.readMark(signal))?.trim()

  async function own(use: UsePlace) {
    const found = await owner.find()
    await use(async (signal) => {
      if (found.isMarked || (await readMark(signal)) !== undefined) return
      await place.makeMark(`${found.id}\n`, signal)
    })
    return found
  }

  return {
    /** @throws StorageAway for a place without the mark */
    async require(use: UsePlace) {
      const { id, isMarked } = owned ?? (await own(use))
      await use(async (signal) => {
        if ((await readMark(signal)) !== id) throw new StorageAway(strange(place, id))
      })
      if (!isMarked) await owner.keepMarked()
      owned = { id, isMarked: true }
    },
  }
}

function strange(place: Markable, id: string) {
  return `The ${place.name} does not have the mark of this database: it is not mounted, or belongs to another one. If it is the right one: ${place.commandFor(id)}`
}

/** The name of the mark. It begins with a dot, which no key does. */
export const MARK = '.storage'
