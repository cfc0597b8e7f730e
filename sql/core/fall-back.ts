import { isConnectionLost, isServerError, isStatementTimeout, NoConnection } from './db.ts'
import type { Sql } from './db.ts'

/**
 * Pools for one request. Statements go to `first` until one fails there, or until `signal` says that its
 * connections are gone. The failed statement or transaction is sent again to `second`, and so are all later
 * ones. A timeout or a missing connection is not retried: it would happen again. Callers only read, without
 * cursors, so running twice has no effect.
 * @param onFall called once, with the error
 */
export function fallBack<Name extends string>(
  first: Readonly<Record<Name, Sql>>,
  second: Readonly<Record<Name, Sql>>,
  { signal, onFall }: { signal: AbortSignal; onFall: (error: unknown) => void },
): Record<Name, Sql> {
  const state: FallState = {
    signal,
    hasFallen: false,
    fall(error) {
      if (!state.hasFallen) onFall(error)
      state.hasFallen = true
    },
  }
  const pairs = Object.entries<Sql>(first).map(([name, pool]) => {
    return [name, eitherPool(pool, second[name as Name], state)]
  })
  return Object.fromEntries(pairs) as Record<Name, Sql>
}

function eitherPool(first: Sql, second: Sql, state: FallState): Sql {
  const ask = (send: (pool: Sql) => unknown) =>
    state.hasFallen ? send(second) : asked(send(first), () => send(second), state)
  const pool = (...given: unknown[]) => ask((to) => (to as Callable)(...given))
  Object.setPrototypeOf(pool, second)
  return Object.assign(pool, {
    unsafe: (...given: unknown[]) => ask((to) => (to.unsafe as Callable)(...given)),
    async begin(...given: unknown[]) {
      const begin = (to: Sql) => (to.begin as Callable)(...given)
      if (state.hasFallen) return begin(second)
      try {
        return await untilGone(begin(first), state.signal)
      } catch (error) {
        const isOfServer = isServerError(error) || isConnectionLost(error)
        if (!state.signal.aborted && (!isOfServer || isLimit(error))) throw error
        state.fall(error)
        return begin(second)
      }
    },
  }) as unknown as Sql
}

const isLimit = (error: unknown) => isStatementTimeout(error) || error instanceof NoConnection

/**
 * The driver passes a query to its pool by `handler` and calls `reject` when it fails. Here `reject` sends a
 * new query to the second pool, which settles the first one. Fragments and names are never passed to a pool.
 */
function asked(made: unknown, again: () => unknown, state: FallState): unknown {
  const query = made as DriverQuery
  const { handler, resolve, reject } = query
  if (handler === undefined) return made
  let isOver = false
  function end() {
    const isFirst = !isOver
    isOver = true
    state.signal.removeEventListener('abort', leave)
    return isFirst
  }
  const leave = () => query.reject(new Error('The connections were given up'))
  query.resolve = (value) => {
    if (end()) resolve(value)
  }
  query.reject = (error) => {
    if (!end()) return
    if (!state.signal.aborted && isLimit(error)) return reject(error)
    state.fall(error)
    const next = again() as DriverQuery
    Object.assign(next.options, query.options)
    if (query.isRaw) next.isRaw = query.isRaw
    next.then(resolve, reject)
  }
  query.handler = (handed) => {
    if (state.signal.aborted) return leave()
    state.signal.addEventListener('abort', leave)
    return handler(handed)
  }
  return made
}

/** The driver tells a transaction of the end of its connection only when the other side has closed it, too. */
async function untilGone(work: unknown, signal: AbortSignal) {
  const gone = Promise.withResolvers<never>()
  const tell = () => gone.reject(signal.reason)
  if (signal.aborted) tell()
  signal.addEventListener('abort', tell)
  try {
    return await Promise.race([work, gone.promise])
  } finally {
    signal.removeEventListener('abort', tell)
  }
}

interface FallState {
  readonly signal: AbortSignal
  hasFallen: boolean
  fall(error: unknown): void
}

type Callable = (...given: unknown[]) => unknown

interface DriverQuery extends Promise<unknown> {
  handler?: (query: DriverQuery) => unknown
  readonly options: object
  isRaw?: unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
