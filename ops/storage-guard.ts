import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { StorageAway } from '../jobs/storage.ts'

/** Which storage folder is the right one: the one whose mark holds the id that the database knows. */
export interface StorageOwner {
  /** `isMarked`: some process has made the mark, so that a folder without it is another one. */
  find(): Promise<{ readonly id: string; readonly isMarked: boolean }>
  keepMarked(): Promise<void>
}

export interface GuardLimits {
  /** How long a look holds that has found the folder usable; another one holds a fifth of it. */
  readonly seenMs: number
  /** A look that takes longer has found the folder away. */
  readonly lookMs: number
  /** A step that takes longer fails. */
  readonly answerMs: number
}

/** Keeps a folder that is away from being used, or from holding anybody up. */
export interface FolderGuard {
  findFault(): Promise<StorageAway | undefined>
  /**
   * A folder that is full or read-only can be read.
   * @throws StorageAway unless it was usable at the last look and has its mark now
   */
  require(use: 'read' | 'write'): Promise<void>
  /**
   * What `work` gives, which may use nothing but the folder. Where the folder hangs it goes on unheeded.
   * @throws StorageAway after `ms`, by default `answerMs`, and for every error of the file system
   */
  run<T>(work: () => Promise<T>, ms?: number): Promise<T>
}

/**
 * An empty folder where a file system should be mounted looks like a storage that has lost everything,
 * and a storage of another database like one full of files that nobody needs. So the folder has a mark,
 * made when a database first uses it, and without it nothing is read, written or deleted.
 */
export function guardFolder(
  folder: string,
  owner: StorageOwner,
  { seenMs, lookMs, answerMs }: GuardLimits = LIMITS,
): FolderGuard {
  const markPath = join(folder, MARK)
  let owned: Awaited<ReturnType<StorageOwner['find']>> | undefined
  let seen: Seen | undefined
  let looking: Promise<void> | undefined

  async function findFault() {
    const holdsMs = seen?.fault ? seenMs / 5 : seenMs
    if (!seen || performance.now() - seen.atMs > holdsMs) {
      looking ??= lookInTime().finally(() => (looking = undefined))
      // A slow look at a storage that worked holds nobody up.
      await (seen ? Promise.race([looking, setTimeout(lookMs / 10, undefined, UNREF)]) : looking)
    }
    return seen?.fault
  }

  async function lookInTime() {
    const looked = look().then((found) => {
      seen = { ...found, atMs: performance.now() }
    })
    await within(looked, lookMs, folder).catch((error: unknown) => {
      // No other look begins before this one has ended: each would hold a thread.
      seen = { fault: faultOf(error), canRead: false, atMs: Infinity }
    })
  }

  async function look() {
    try {
      if (!owned?.isMarked) await own()
      else await requireMark(owned.id)
    } catch (error) {
      return { fault: faultOf(error), canRead: false }
    }
    const fault = await run(() => tryToWrite(folder)).then(() => undefined, faultOf)
    return { fault, canRead: true }
  }

  /** Makes the mark, unless a process of this database has made one before. */
  async function own() {
    owned = await owner.find()
    const { id, isMarked } = owned
    if (!isMarked && (await run(() => readMark(markPath))) === undefined) {
      await run(() => makeMark(folder, markPath, id))
    }
    await requireMark(id)
    if (!isMarked) await owner.keepMarked()
    owned = { id, isMarked: true }
  }

  async function requireMark(id: string) {
    if ((await run(() => readMark(markPath))) === id) return
    lookAgain()
    throw new StorageAway(
      `The storage folder ${folder} does not have the mark of this database: it is not mounted, or belongs to another one. If it is the right one: echo ${id} > ${markPath}`,
    )
  }

  async function run<T>(work: () => Promise<T>, ms = answerMs): Promise<T> {
    try {
      return await within(work(), ms, folder)
    } catch (error) {
      if (!(error instanceof StorageAway) && !isOfFileSystem(error)) throw error
      lookAgain()
      const { message } = error
      if (error instanceof StorageAway) throw error
      const cause = { cause: error }
      throw new StorageAway(`The storage folder ${folder} cannot be used: ${message}`, cause)
    }
  }

  /** After a failure the next look is not put off. */
  function lookAgain() {
    if (seen && !seen.fault) seen = undefined
  }

  return {
    findFault,
    async require(use) {
      const fault = await findFault()
      if (fault && !(use === 'read' && seen?.canRead)) throw fault
      if (owned) await requireMark(owned.id)
    },
    run,
  }
}

/** Other errors, as of a database that is away, say nothing about the storage. */
function faultOf(error: unknown) {
  if (error instanceof StorageAway) return error
  throw error
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

async function within<T>(work: Promise<T>, ms: number, folder: string): Promise<T> {
  const done = new AbortController()
  const late = setTimeout(ms, undefined, { signal: done.signal }).then(() => {
    throw new StorageAway(`The storage folder ${folder} does not answer within ${ms} ms`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    done.abort()
  }
}

function isOfFileSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** What the last look has found. */
interface Seen {
  readonly fault: StorageAway | undefined
  readonly canRead: boolean
  readonly atMs: number
}

/** Begins with a dot, which no key does. */
const MARK = '.storage'
const LOOK_BYTES = 64 << 10
const UNREF = { ref: false }
/** A busy disk may take seconds for a step, other than making megabytes durable. */
const LIMITS: GuardLimits = { seenMs: 5000, lookMs: 10_000, answerMs: 10_000 }
