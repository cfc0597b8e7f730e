/** Lets in as many at once as there are places, such as a pool's connections; who comes later waits. */
export interface Gate {
  /**
   * Resolves with the function that leaves again, once there is room.
   * @param owner on whose behalf; undefined: the process's own, which no share limits
   * @throws NoConnection after `waitMs`, or at once when `MAX_WAITING` of the owner wait already, and when
   * the signal ends the wait
   */
  enter(owner?: string, options?: { places?: number; signal?: AbortSignal }): Promise<Leave>
  /** Enters at once, whether there is room or not, and is no part of any owner's share. */
  pass(places: number): Leave
  state(): GateState
  /** Calls `hear` with the seconds that each one waited, 0 included, also of those that gave up. */
  onWait(hear: (seconds: number) => void): void
}

/** Gives back the places, except so many of them. Later calls give back no place twice. */
export type Leave = (kept?: number) => void

export interface GateState {
  readonly busy: number
  readonly free: number
  readonly waiting: number
}

export interface GateOptions {
  readonly max: number
  /** Most places that one owner holds at once, so that others find room; default `max`. */
  readonly maxEach?: number
  /** How long one waits at most. */
  readonly waitMs: number
}

/** No connection of the pool became free in time. */
export class NoConnection extends Error {
  readonly code = 'NO_CONNECTION'

  constructor() {
    super('No database connection became free in time')
  }
}

/**
 * The next to enter is of the owner that holds the fewest; of these, the one that has waited longest. So one
 * owner's crowd makes nobody else wait for more than a connection. Nobody who needs less overtakes it.
 */
export function openGate({ max, maxEach = max, waitMs }: GateOptions): Gate {
  const waiting: Waiting[] = []
  const held = new Map<string, number>()
  const hearers: ((seconds: number) => void)[] = []
  let busy = 0

  const holds = (owner: string | undefined) => (owner === undefined ? 0 : (held.get(owner) ?? 0))

  function add(owner: string | undefined, places: number) {
    busy += places
    if (owner === undefined) return
    const count = holds(owner) + places
    if (count > 0) held.set(owner, count)
    else held.delete(owner)
  }

  function take(owner: string | undefined, places: number): Leave {
    let left = places
    add(owner, places)
    return (kept = 0) => {
      if (kept >= left) return
      add(owner, kept - left)
      left = kept
      letIn()
    }
  }

  function letIn() {
    for (;;) {
      const able = waiting.filter(({ owner, places }) => holds(owner) + places <= maxEach)
      if (able.length === 0) return
      const first = able.reduce((a, b) => (holds(b.owner) < holds(a.owner) ? b : a))
      if (busy + first.places > max) return
      stopWaiting(first)
      first.enter(take(first.owner, first.places))
    }
  }

  function stopWaiting(one: Waiting) {
    waiting.splice(waiting.indexOf(one), 1)
    for (const hear of hearers) hear((performance.now() - one.since) / 1000)
  }

  return {
    async enter(owner, { places = 1, signal } = {}) {
      const isFull = waiting.filter((each) => each.owner === owner).length >= MAX_WAITING
      if (isFull || signal?.aborted) throw new NoConnection()
      const { promise, resolve, reject } = Promise.withResolvers<Leave>()
      const one = { owner, places, since: performance.now(), enter: resolve }
      waiting.push(one)
      letIn()
      if (!waiting.includes(one)) return promise
      function giveUp() {
        // It may have been let in in this very turn.
        if (!waiting.includes(one)) return
        stopWaiting(one)
        reject(new NoConnection())
        // Those behind it may need less.
        letIn()
      }
      const timer = setTimeout(giveUp, waitMs)
      signal?.addEventListener('abort', giveUp)
      return promise.finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
      })
    },
    pass: (places) => take(undefined, places),
    state: () => ({ busy, free: max - busy, waiting: waiting.length }),
    onWait: (hear) => void hearers.push(hear),
  }
}

/** More than all requests of an organization at once have statements. */
export const MAX_WAITING = 1000

interface Waiting {
  readonly owner: string | undefined
  readonly places: number
  readonly since: number
  readonly enter: (leave: Leave) => void
}
