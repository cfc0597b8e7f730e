/** Lets in as many at once as a pool has connections; who comes later waits for a turn. */
export interface Gate {
  /**
   * Resolves with the function that leaves again, once there is room.
   * @param owner on whose behalf; undefined: the process's own, which no share limits
   * @throws NoConnection after `waitMs`, or at once when `MAX_WAITING` of the owner wait already
   */
  enter(owner?: string): Promise<() => void>
  state(): GateState
  /** Calls `hear` with the seconds that each one waited, 0 included, also of those that gave up. */
  onWait(hear: (seconds: number) => void): void
}

export interface GateState {
  readonly busy: number
  readonly free: number
  readonly waiting: number
}

export interface GateOptions {
  readonly max: number
  /** Most that one owner holds at once, so that others find room; default `max`. */
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
 * owner's crowd makes nobody else wait for more than a connection.
 */
export function openGate({ max, maxEach = max, waitMs }: GateOptions): Gate {
  const waiting: Waiting[] = []
  const held = new Map<string, number>()
  const hearers: ((seconds: number) => void)[] = []
  let busy = 0

  const holds = (owner: string | undefined) => (owner === undefined ? 0 : (held.get(owner) ?? 0))

  function take(owner: string | undefined, since: number) {
    busy++
    if (owner !== undefined) held.set(owner, holds(owner) + 1)
    tell(since)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      busy--
      if (owner !== undefined) put(owner, holds(owner) - 1)
      letNextIn()
    }
  }

  function put(owner: string, count: number) {
    if (count > 0) held.set(owner, count)
    else held.delete(owner)
  }

  function letNextIn() {
    const next = busy < max && waiting.filter(({ owner }) => holds(owner) < maxEach)
    if (!next || next.length === 0) return
    const first = next.reduce((a, b) => (holds(b.owner) < holds(a.owner) ? b : a))
    waiting.splice(waiting.indexOf(first), 1)
    clearTimeout(first.timer)
    first.enter(take(first.owner, first.since))
  }

  function tell(since: number) {
    for (const hear of hearers) hear((performance.now() - since) / 1000)
  }

  return {
    async enter(owner) {
      const since = performance.now()
      if (busy < max && holds(owner) < maxEach) return take(owner, since)
      if (waiting.filter((each) => each.owner === owner).length >= MAX_WAITING)
        throw new NoConnection()
      return new Promise((enter, reject) => {
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(one), 1)
          tell(since)
          reject(new NoConnection())
        }, waitMs)
        const one = { owner, since, timer, enter }
        waiting.push(one)
      })
    },
    state: () => ({ busy, free: max - busy, waiting: waiting.length }),
    onWait: (hear) => void hearers.push(hear),
  }
}

/** More than all requests of an organization at once have statements. */
export const MAX_WAITING = 1000

interface Waiting {
  readonly owner: string | undefined
  readonly since: number
  readonly timer: NodeJS.Timeout
  readonly enter: (leave: () => void) => void
}
