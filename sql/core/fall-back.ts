import { isConnectionLost, isServerError, isStatementTimeout, NoConnection } from './db.ts'
import type { Sql } from './db.ts'

/**
 * Pools for one request. What it asks goes to the `first` ones until something there fails, or `signal` says
 * that they are gone. That statement or transaction is then sent anew to its pool of the `second` ones, and so is
 * all that follows. A limit of time or of connections is no such failure: it would be met there once more. What
 * is given to them only reads, and without cursors, so that nobody sees that it ran twice.
 * @param onFall called once, with the error
 */
export function fallBack<Name extends string>(
  first: Readonly<Record<Name, Sql>>,
  second: Readonly<Record<Name, Sql>>,
  { signal, onFall }: { signal: AbortSignal; onFall: (error: unknown) => void },
): Record<Name, Sql> {
  const turn: Turn = {
    signal,
    hasFallen: false,
    fall(error) {
      if (!turn.hasFallen) onFall(error)
      turn.hasFallen = true
    },
  }
  const pairs = Object.entries<Sql>(first).map(([name, pool]) => {
    return [name, eitherPool(pool, second[name as Name], turn)]
  })
  return Object.fromEntries(pairs) as Record<Name, Sql>
}

function eitherPool(first: Sql, second: Sql, turn: Turn): Sql {
  const ask = (send: (pool: Sql) => unknown) =>
    turn.hasFallen ? send(second) : asked(send(first), () => send(second), turn)
  const pool = (...given: unknown[]) => ask((to) => (to as Callable)(...given))
  Object.setPrototypeOf(pool, second)
  return Object.assign(pool, {
    unsafe: (...given: unknown[]) => ask((to) => (to.unsafe as Callable)(...given)),
    async begin(...given: unknown[]) {
      const begin = (to: Sql) => (to.begin as Callable)(...given)
      if (turn.hasFallen) return begin(second)
      try {
        return await untilGone(begin(first), turn.signal)
      } catch (error) {
        const isOfServer = isServerError(error) || isConnectionLost(error)
        if (!turn.signal.aborted && (!isOfServer || isLimit(error))) throw error
        turn.fall(error)
        return begin(second)
      }
    },
  }) as unknown as Sql
}

const isLimit = (error: unknown) => isStatementTimeout(error) || error instanceof NoConnection

/**
 * The driver hands a query to its pool by the `handler`, and rejects it where it has failed. Instead a new one
 * is made and settles it. What is no query, such as a name, has no handler, and what becomes a part of another
 * is never handed over.
 */
function asked(made: unknown, again: () => unknown, turn: Turn): unknown {
  const query = made as DriverQuery
  const { handler, resolve, reject } = query
  if (handler === undefined) return made
  let isOver = false
  function end() {
    const isFirst = !isOver
    isOver = true
    turn.signal.removeEventListener('abort', leave)
    return isFirst
  }
  const leave = () => query.reject(new Error('The connections were given up'))
  query.resolve = (value) => {
    if (end()) resolve(value)
  }
  query.reject = (error) => {
    if (!end()) return
    if (!turn.signal.aborted && isLimit(error)) return reject(error)
    turn.fall(error)
    const next = again() as DriverQuery
    Object.assign(next.options, query.options)
    if (query.isRaw) next.isRaw = query.isRaw
    next.then(resolve, reject)
  }
  query.handler = (handed) => {
    if (turn.signal.aborted) return leave()
    turn.signal.addEventListener('abort', leave)
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

interface Turn {
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
