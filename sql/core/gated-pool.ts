import type postgres from 'postgres'
import type { Gate } from './gate.ts'

type Pool = postgres.Sql<{ int8: number }>

const gates = new WeakMap<object, { readonly pool: Pool; readonly gate: Gate }>()

/**
 * A pool whose statements and transactions pass a gate before they take a connection. The driver's own
 * queue has neither a bound nor a deadline, and with no connection free it sends a statement after another
 * one on a busy connection, where it may wait for the longest search.
 */
export function gatedPool(pool: Pool, gate: Gate, owner?: string): Pool {
  const gated = ((...given: Parameters<typeof pool>) =>
    hold(pool(...given), gate, owner)) as unknown as Pool
  // What is not gated, such as the types and `end`, is the pool's.
  Object.setPrototypeOf(gated, pool)
  gates.set(gated, { pool, gate })
  return Object.assign(gated, {
    unsafe: (...given: Parameters<Pool['unsafe']>) => hold(pool.unsafe(...given), gate, owner),
    async begin(...given: Parameters<Pool['begin']>) {
      const leave = await gate.enter(owner)
      try {
        return await pool.begin(...given)
      } finally {
        leave()
      }
    },
    async reserve() {
      const leave = await gate.enter(owner)
      try {
        const connection = await pool.reserve()
        const release = connection.release.bind(connection)
        return Object.assign(connection, {
          release() {
            release()
            leave()
          },
        })
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}

/** The same pool on behalf of an owner, who may hold only a share of its connections. */
export function ownedBy(pool: Pool, owner: string): Pool {
  const known = gates.get(pool)
  return known ? gatedPool(known.pool, known.gate, owner) : pool
}

/** The gate before a pool that `openDatabase` has opened. */
export function gateOf(pool: Pool): Gate {
  const known = gates.get(pool)
  if (!known) throw new TypeError('A pool without a gate')
  return known.gate
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

interface DriverQuery {
  handler?: (query: DriverQuery) => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
