import type { Gate } from './gate.ts'

const gates = new WeakMap<object, { readonly pool: DriverPool; readonly gate: Gate }>()

/**
 * A pool whose statements and transactions pass a gate before they take a connection. The driver's own
 * queue has neither a bound nor a deadline, and with no connection free it sends a statement after another
 * one on a busy connection, where it may wait for the longest search.
 */
export function gatedPool<Pool extends DriverPool>(pool: Pool, gate: Gate, owner?: string): Pool {
  const gated = (...given: unknown[]) => hold(pool(...given), gate, owner)
  // What is not gated, such as the types and `end`, is the pool's.
  Object.setPrototypeOf(gated, pool)
  gates.set(gated, { pool, gate })
  return Object.assign(gated, {
    unsafe: (...given: unknown[]) => hold(pool.unsafe(...given), gate, owner),
    async begin(...given: unknown[]) {
      const leave = await gate.enter(owner)
      const work = given.pop() as (tx: unknown) => unknown
      let hasBegun = false
      try {
        return await pool.begin(...given, (tx: unknown) => {
          hasBegun = true
          return work(tx)
        })
      } catch (error) {
        throw hasBegun ? error : ofDriver(error)
      } finally {
        leave()
      }
    },
    reserve: () => reserve(pool, gate, owner),
  }) as unknown as Pool
}

/** The same pool on behalf of an owner, who may hold only a share of its connections. */
export function ownedBy<Pool extends DriverPool>(pool: Pool, owner: string): Pool {
  const known = gates.get(pool)
  return known ? gatedPool(known.pool as Pool, known.gate, owner) : pool
}

/** The gate before a pool that `openDatabase` has opened. */
export function gateOf(pool: DriverPool): Gate {
  const known = gates.get(pool)
  if (!known) throw new TypeError('A pool without a gate')
  return known.gate
}

async function reserve(pool: DriverPool, gate: Gate, owner: string | undefined) {
  const leave = await gate.enter(owner)
  try {
    const connection = await pool.reserve()
    const release = connection.release
    connection.release = () => {
      release()
      leave()
    }
    return connection
  } catch (error) {
    leave()
    throw error
  }
}

/** The driver names the query in its errors, but not that a transaction begins with. */
function ofDriver(error: unknown) {
  if (error instanceof Error && !('query' in error)) {
    Object.defineProperty(error, 'query', { value: 'begin' })
  }
  return error
}

/**
 * Gates a query. The driver hands it to the pool by its `handler` when somebody awaits it; one that becomes
 * a part of another is never handed over, and what is not a query, such as a name, has no handler. It has
 * ended when the driver calls `resolve` or `reject`, which a cursor replaces for each of its batches.
 */
function hold<T>(made: T, gate: Gate, owner: string | undefined): T {
  const query = made as DriverQuery
  const { handler } = query
  if (handler === undefined) return made
  query.handler = async () => {
    try {
      onEnd(query, await gate.enter(owner))
    } catch (error) {
      return query.reject(error)
    }
    handler(query)
  }
  return made
}

function onEnd(query: DriverQuery, end: () => void) {
  for (const name of ['resolve', 'reject'] as const) {
    let settle = query[name]
    Object.defineProperty(query, name, {
      get: () => (value: unknown) => {
        end()
        settle(value)
      },
      set(next: typeof settle) {
        settle = next
      },
    })
  }
}

/** What of a pool of the driver takes a connection. */
interface DriverPool {
  // oxlint-disable-next-line typescript/no-explicit-any
  (...given: any[]): unknown
  // oxlint-disable-next-line typescript/no-explicit-any
  unsafe(...given: any[]): unknown
  // oxlint-disable-next-line typescript/no-explicit-any
  begin(...given: any[]): Promise<unknown>
  reserve(): Promise<{ release: () => void }>
}

interface DriverQuery {
  handler?: (query: DriverQuery) => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
