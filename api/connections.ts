import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { connectionAddress } from './client-address.ts'
import type { AddressRange } from './client-address.ts'
import { limitReached } from './rate-limit.ts'

/** How many connections a process holds open. */
export interface ConnectionLimits {
  readonly max: number
  /** Of one client address. Those of trusted proxies count among all alone. */
  readonly maxPerAddress: number
}

export const DEFAULT_CONNECTIONS: ConnectionLimits = { max: 10_000, maxPerAddress: 256 }

export interface Connections {
  /** How many are open. */
  count(): number
  /** How many were refused: beyond the limit of their address, or of all. */
  readonly refusals: { readonly address: number; readonly total: number }
  /** @throws ApiError 429 for a request on a connection beyond the limit of its address */
  check(request: IncomingMessage): void
}

/**
 * Limits the connections of a listener. When it nears its limit, each new connection ends the one that
 * has been idle the longest, and keep-alive gets shorter before. So whoever holds connections and
 * sends nothing keeps nobody out. Beyond the limit Node ends connections where it accepts them.
 */
export function limitConnections(
  listener: Server,
  { max, maxPerAddress }: ConnectionLimits,
  trustedProxies: readonly AddressRange[],
): Connections {
  const addresses = countAddresses()
  const idle = trackIdle(listener)
  const refused = new Set<Socket>()
  const refusals = { address: 0, total: 0 }
  let count = 0

  function add(socket: Socket) {
    count++
    const address = connectionAddress(socket.remoteAddress, trustedProxies)
    socket.once('close', () => remove(socket, address))
    if (address !== undefined && addresses.add(address) > maxPerAddress) refuse(socket)
    else if (count > max * CROWDED) endLongestIdle()
    if (!socket.destroyed) idle.add(socket)
    listener.keepAliveTimeout = keepAliveMs(count / max)
  }

  function remove(socket: Socket, address: string | undefined) {
    count--
    idle.delete(socket)
    refused.delete(socket)
    if (address !== undefined) addresses.remove(address)
    listener.keepAliveTimeout = keepAliveMs(count / max)
  }

  function refuse(socket: Socket) {
    refusals.address++
    if (refused.size >= MAX_TOLD) return socket.destroy()
    refused.add(socket)
    const timer = setTimeout(() => socket.destroy(), TOLD_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  function endLongestIdle() {
    const [socket] = idle
    if (!socket) return
    // It closes later; until then the next new connection must not find it again.
    idle.delete(socket)
    socket.destroy()
  }

  listener.maxConnections = max
  listener.on('connection', add)
  listener.on('drop', () => refusals.total++)
  return {
    count: () => count,
    refusals,
    check({ socket }) {
      if (!refused.has(socket)) return
      const detail = 'Too many connections from this address'
      throw limitReached('connections', 5, 'too_many_connections', detail, { Connection: 'close' })
    },
  }
}

/** The connections that have no request, the longest idle first. New ones are added by the caller. */
function trackIdle(listener: Server) {
  const idle = new Set<Socket>()
  // A client may send its next requests before it is answered.
  const requests = new WeakMap<Socket, number>()
  function count(socket: Socket, more: number) {
    const left = (requests.get(socket) ?? 0) + more
    requests.set(socket, left)
    return left
  }
  function markBusy({ socket }: IncomingMessage, response: ServerResponse) {
    idle.delete(socket)
    count(socket, 1)
    response.once('close', () => {
      if (count(socket, -1) === 0 && !socket.destroyed) idle.add(socket)
    })
  }
  listener.on('request', markBusy)
  listener.on('checkContinue', markBusy)
  return idle
}

/** How many connections there are of each address. */
function countAddresses() {
  const counts = new Map<string, number>()
  return {
    /** The count with this one. */
    add(address: string) {
      const count = (counts.get(address) ?? 0) + 1
      counts.set(address, count)
      return count
    },
    remove(address: string) {
      const left = (counts.get(address) ?? 0) - 1
      if (left > 0) counts.set(address, left)
      else counts.delete(address)
    },
  }
}

/** A minute while half of the connections are free, then less and less, down to a second. */
function keepAliveMs(fill: number) {
  return Math.max(1000, Math.min(1, 2 - 2 * fill) * KEEP_ALIVE_MS)
}

const KEEP_ALIVE_MS = 65_000
/** Part of all connections from which on idle ones make room. */
const CROWDED = 0.9
/** Refused connections that are told so at once; further ones are ended without an answer. */
const MAX_TOLD = 100
/** Time that a refused connection has to send its request, which is then answered. */
const TOLD_MS = 2000

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    connections: Connections
  }
}
