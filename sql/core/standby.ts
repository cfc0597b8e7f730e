import { setTimeout as pause } from 'node:timers/promises'
import { batchCalls } from '../../jobs/batch-calls.ts'
import { messageOf } from '../../jobs/rules/core/error-message.ts'
import type { Sql } from './db.ts'
import { openWaits } from './standby-waits.ts'
import { readReplayed } from './wal-position.ts'
import type { WalPosition } from './wal-position.ts'

/** A server that replays what the primary writes, and how far it is. */
export interface Standby<Pools> {
  /**
   * Its connections, once it shows all that was committed before the call; or all before the position
   * `asked`, in bytes, where that is earlier. Undefined where it does not get there within `WAIT_MS`, and at
   * once where it cannot be used or is known to lag by more.
   */
  reach(asked?: number): Promise<StandbyLink<Pools> | undefined>
  /** Up to where it shows what was written, in bytes; undefined where it does not say. */
  findReplayed(): Promise<number | undefined>
  /** What the last looks at it have shown. */
  state(): StandbyState<Pools>
  close(): Promise<void>
}

export interface StandbyState<Pools> {
  /** Why it is not read, or hardly. */
  readonly complaint: StandbyFault | 'lags far behind' | undefined
  /** How long it took to show what was written last, or how long that has been waited for. */
  readonly lagSeconds: number
  /** Undefined while it cannot be used. */
  readonly pools: Pools | undefined
}

export type StandbyFault =
  | 'has not been looked at yet'
  | 'does not answer'
  | 'is not a standby'
  | 'is of another cluster'
  | 'is on another timeline than the primary'

/** Its open connections. */
export interface StandbyLink<Pools> {
  readonly pools: Pools
  /** A pool of one connection, to look how far it is and for nothing else. */
  readonly watch: Sql
  /** A pooler stands before it. */
  readonly isPooled: boolean
  /** Aborted when the connections are given up. Any number of statements listen to it. */
  readonly signal: AbortSignal
  end(): Promise<void>
}

export interface StandbyOptions<Pools> {
  /** Asks the primary up to where it has written. */
  readonly askPrimary: () => Promise<WalPosition>
  /** @param onClose to be called whenever a connection has ended */
  readonly connect: (onClose: () => void) => Promise<StandbyLink<Pools>>
  readonly log: Log
}

/**
 * Watches a standby: twice a second, so that nobody waits for long for one that hangs, and more often while
 * somebody waits for a position. One that cannot be used makes nobody wait.
 */
export function openStandby<Pools>(options: StandbyOptions<Pools>): Standby<Pools> {
  const { askPrimary, connect, log } = options
  const waits = openWaits()
  let link: StandbyLink<Pools> | undefined
  let replayed: WalPosition | undefined
  /** When the standby said so. Once a connection has ended, it may have been started again, further back. */
  let readAt = -Infinity
  let fault: StandbyFault | undefined = 'has not been looked at yet'
  let told: string | undefined = fault
  let checkedAt = -Infinity
  let checking: Promise<void> | undefined
  let isWatching = false
  let isClosed = false

  async function readStandby() {
    const asked = link
    if (!asked) return
    try {
      const found = await answerOf(readReplayed(asked.watch))
      if (link !== asked) return
      replayed = found
      readAt = performance.now()
      if (replayed) waits.reached(replayed.bytes)
      else note('is not a standby')
    } catch (error) {
      if (link === asked) note('does not answer', messageOf(error))
    }
  }

  /** Notes what is wrong, and gives the connections up: what waits for them is asked elsewhere. */
  function note(found: StandbyFault | undefined, reason?: string) {
    fault = found
    if (fault) {
      void link?.end()
      link = undefined
      replayed = undefined
      waits.giveUp()
    }
    tell(reason)
  }

  const findComplaint = () => fault ?? (waits.lagMs() > LAGS_MS ? 'lags far behind' : undefined)

  function tell(reason?: string) {
    const complaint = findComplaint()
    if (complaint === told || isClosed) return
    told = complaint
    if (complaint) log.warn({ reason }, `the read replica ${complaint}; the primary is read`)
    else log.info({}, 'the read replica is read')
  }

  /** Whether the standby is one of the primary's; notes it where it is not. */
  function isOf(present: WalPosition) {
    if (!replayed) return false
    checkedAt = performance.now()
    const found = compareHistories(present, replayed)
    if (found) note(found)
    return found === undefined
  }

  /** Looks at both servers, at most once a second. */
  function check() {
    if (isClosed || checking || isRecent(checkedAt)) return
    checkedAt = performance.now()
    checking = compare().finally(() => (checking = undefined))
  }

  async function compare() {
    try {
      link ??= await connect(() => (readAt = -Infinity))
    } catch (error) {
      return note('does not answer', messageOf(error))
    }
    // While the primary does not answer, nobody is served anyway.
    const present = await askPrimary().catch(() => undefined)
    await readStandby()
    if (present && isOf(present)) note(undefined)
  }

  /** Looks until nobody waits. */
  async function watch() {
    if (isWatching) return
    isWatching = true
    while (waits.count() > 0 && !isClosed) {
      await readStandby()
      tell()
      if (waits.count() > 0) await pause(Math.min(Math.max(waits.ageMs() / 10, 2), 200))
    }
    isWatching = false
  }

  async function reach(asked = Infinity) {
    if (fault || !link || isClosed) return undefined
    // Sessions of a pooler end without our hearing of it.
    const known = isRecent(readAt) && !link.isPooled ? (replayed?.bytes ?? 0) : 0
    if (asked <= known && isRecent(checkedAt)) return link
    const present = await askPrimary().catch(() => undefined)
    if (!present) return undefined
    const bytes = Math.min(asked, present.bytes)
    if (bytes > known) {
      const reached = waits.wait(bytes)
      void watch()
      if (!(await reached)) return undefined
    }
    return isOf(present) ? link : undefined
  }

  const readTogether = batchCalls(async (_: object, asked: readonly undefined[]) => {
    await readStandby()
    return asked.map(() => replayed?.bytes)
  }, 1000)

  function beat() {
    if (fault) check()
    else if (!isWatching) void readTogether(options, undefined)
  }

  beat()
  const beating = setInterval(beat, BEAT_MS)
  return {
    reach,
    findReplayed: () => readTogether(options, undefined),
    state: () => ({
      complaint: findComplaint(),
      lagSeconds: waits.lagMs() / 1000,
      pools: fault ? undefined : link?.pools,
    }),
    async close() {
      isClosed = true
      clearInterval(beating)
      waits.giveUp()
      await checking
      await link?.end()
    },
  }
}

/** Why a server is no standby of a primary; undefined where it is one. */
export function compareHistories(
  present: WalPosition,
  replayed: WalPosition,
): StandbyFault | undefined {
  if (replayed.system !== present.system) return 'is of another cluster'
  if (replayed.timeline !== present.timeline) return 'is on another timeline than the primary'
  return undefined
}

async function answerOf<T>(asking: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('It did not answer in time')), LOOK_MS)
  return Promise.race([asking, late.promise]).finally(() => clearTimeout(timer))
}

/** How long an answer of the standby is waited for. */
const LOOK_MS = 2000
/** How long an answer of the standby counts as current, and the time between looks at one that cannot be used. */
const KNOWN_MS = 1000
const isRecent = (time: number) => performance.now() - time < KNOWN_MS
const BEAT_MS = 500
/** From this lag on, the log and readiness warn. */
const LAGS_MS = 10_000

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}
