import { setTimeout } from 'node:timers/promises'
import { StorageAway } from '../../jobs/storage.ts'
import { openMark } from './mark.ts'
import type { Markable, StorageOwner, UsePlace } from './mark.ts'

/** Where a storage is, and what tells whether it can be used. */
export interface Place extends Markable {
  /**
   * A mount can be gone from one moment to the next, so the mark of a folder is read before each use. For
   * a bucket that would be a request more for each, and the last look is enough.
   */
  readonly isMountable: boolean
  /** Writes something, and takes it away again. */
  tryToWrite(signal: AbortSignal): Promise<void>
  /** Why the place cannot be used, by an error of a use of it; undefined where that says nothing about it. */
  explain(error: Error): string | undefined
}

export interface GuardLimits {
  /** How long a look holds that has found the place usable; another one holds a fifth of it. */
  readonly seenMs: number
  /** A look that takes longer has found the place away. */
  readonly lookMs: number
  /** A step that takes longer fails. */
  readonly answerMs: number
}

/** Keeps a place that is away from being used, or from holding anybody up. */
export interface Guard {
  findFault(): Promise<StorageAway | undefined>
  /**
   * A place that is full or read-only can be read.
   * @throws StorageAway unless it was usable at the last look, and has its mark now if it is mountable
   */
  require(use: 'read' | 'write'): Promise<void>
  /** @throws StorageAway for a place without its mark */
  requireMark(): Promise<void>
  /**
   * What `work` gives. It may use nothing but the place. Its signal aborts at the deadline. Work that cannot
   * be aborted, such as a call on a folder that hangs, continues, and its result is dropped.
   * @throws StorageAway after `ms`, by default `answerMs`, and for every error that is the place's
   */
  run<T>(work: Work<T>, ms?: number): Promise<T>
  /** Like `run`, for what may be slow: it ends when two looks in a row find the place away. */
  runSlow<T>(work: Work<T>, ms: number): Promise<T>
}

type Work<T> = (signal: AbortSignal) => Promise<T>

export function guardPlace(
  place: Place,
  owner: StorageOwner,
  { seenMs, lookMs, answerMs }: GuardLimits,
): Guard {
  const mark = openMark(place, owner)
  let seen: Seen | undefined
  /** Settles at the deadline, but stays set until its look has ended: a place that hangs then holds one thread. */
  let looking: Promise<void> | undefined

  async function findFault() {
    const holdsMs = seen?.fault ? seenMs / 5 : seenMs
    if (!seen || performance.now() - seen.atMs > holdsMs) {
      looking ??= lookInTime()
      // A slow look at a storage that worked holds nobody up.
      await (seen ? Promise.race([looking, setTimeout(lookMs / 10, undefined, UNREF)]) : looking)
    }
    return seen?.fault
  }

  async function lookInTime() {
    const late = new AbortController()
    await within(lookAndSee(late.signal), lookMs, place.name, late).catch((error: unknown) =>
      see({ fault: faultOf(error), canRead: false }),
    )
  }

  async function lookAndSee(signal: AbortSignal) {
    try {
      see(await look(signal))
    } catch (error) {
      seen = undefined
      throw error
    } finally {
      looking = undefined
    }
  }

  function see(found: Omit<Seen, 'atMs'>) {
    seen = { ...found, atMs: performance.now() }
  }

  /** Its steps have no deadline of their own: that of a folder ends only when the folder has answered. */
  async function look(signal: AbortSignal) {
    const use: UsePlace = (work) => asAway(place, work(signal))
    const away = await mark.require(use).then(() => undefined, faultOf)
    if (away) return { fault: away, canRead: false }
    const fault = await use(() => place.tryToWrite(signal)).then(() => undefined, faultOf)
    return { fault, canRead: true }
  }

  async function run<T>(work: Work<T>, ms = answerMs): Promise<T> {
    const late = new AbortController()
    try {
      return await within(asAway(place, work(late.signal)), ms, place.name, late)
    } catch (error) {
      // The next look is not put off.
      if (error instanceof StorageAway && seen && !seen.fault) seen = undefined
      throw error
    }
  }

  function runSlow<T>(work: Work<T>, ms: number) {
    return run(async (late) => {
      const away = new AbortController()
      let faults = 0
      const endIfAway = (fault?: StorageAway) => {
        faults = fault ? faults + 1 : 0
        if (faults === 2) away.abort(fault)
      }
      const looking = setInterval(() => void findFault().then(endIfAway, () => {}), answerMs / 4)
      try {
        return await work(AbortSignal.any([late, away.signal]))
      } catch (error) {
        throw away.signal.aborted ? away.signal.reason : error
      } finally {
        clearInterval(looking)
      }
    }, ms)
  }

  return {
    findFault,
    async require(use) {
      const fault = await findFault()
      if (fault && !(use === 'read' && seen?.canRead)) throw fault
      if (place.isMountable) await mark.require(run)
    },
    requireMark: () => mark.require(run),
    run,
    runSlow,
  }
}

/** Makes a StorageAway of every error that is the place's. */
async function asAway<T>(place: Place, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    const why =
      cause instanceof Error && !(cause instanceof StorageAway) ? place.explain(cause) : undefined
    if (why === undefined) throw cause
    throw new StorageAway(`The ${place.name} cannot be used: ${why}`, { cause })
  })
}

/** Other errors, as of a database that is away, say nothing about the storage. */
function faultOf(error: unknown) {
  if (error instanceof StorageAway) return error
  throw error
}

async function within<T>(
  work: Promise<T>,
  ms: number,
  name: string,
  late: AbortController,
): Promise<T> {
  const done = new AbortController()
  const deadline = setTimeout(ms, undefined, { signal: done.signal }).then(() => {
    const away = new StorageAway(`The ${name} does not answer within ${ms} ms`)
    late.abort(away)
    throw away
  })
  try {
    return await Promise.race([work, deadline])
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

const UNREF = { ref: false }
