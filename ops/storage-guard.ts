import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { StorageAway } from '../jobs/storage.ts'
import { openMark } from './storage-mark.ts'
import type { StorageOwner, UseFolder } from './storage-mark.ts'

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

export function guardFolder(
  folder: string,
  owner: StorageOwner,
  { seenMs, lookMs, answerMs }: GuardLimits = LIMITS,
): FolderGuard {
  const mark = openMark(folder, owner)
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
      // No other look begins before this one has ended: each would hold a thread of the process.
      seen = { fault: faultOf(error), canRead: false, atMs: Infinity }
    })
  }

  /** Its steps have no deadline, so that it ends only when the folder has answered. */
  async function look() {
    const use: UseFolder = (work) => asAway(folder, work())
    const away = await mark.require(use).then(() => undefined, faultOf)
    if (away) return { fault: away, canRead: false }
    const fault = await use(() => tryToWrite(folder)).then(() => undefined, faultOf)
    return { fault, canRead: true }
  }

  async function run<T>(work: () => Promise<T>, ms = answerMs): Promise<T> {
    try {
      return await within(asAway(folder, work()), ms, folder)
    } catch (error) {
      // The next look is not put off.
      if (seen && !seen.fault) seen = undefined
      throw error
    }
  }

  return {
    findFault,
    async require(use) {
      const fault = await findFault()
      if (fault && !(use === 'read' && seen?.canRead)) throw fault
      await mark.require(run)
    },
    run,
  }
}

/** Makes a StorageAway of every error of the file system. */
async function asAway<T>(folder: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause
    throw new StorageAway(`The storage folder ${folder} cannot be used: ${cause.message}`, {
      cause,
    })
  })
}

/** Other errors, as of a database that is away, say nothing about the storage. */
function faultOf(error: unknown) {
  if (error instanceof StorageAway) return error
  throw error
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

/** What the last look has found. */
interface Seen {
  readonly fault: StorageAway | undefined
  readonly canRead: boolean
  readonly atMs: number
}

const LOOK_BYTES = 64 << 10
const UNREF = { ref: false }
/** A busy disk may take seconds for a step, other than making megabytes durable. */
const LIMITS: GuardLimits = { seenMs: 5000, lookMs: 10_000, answerMs: 10_000 }
