import { lookup, Resolver } from 'node:dns/promises'
import { Agent as PlainAgent } from 'node:http'
import { Agent } from 'node:https'
import type { AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import { isAllowedAddress, isInNetworks } from '../../jobs/rules/core/outbound-address.ts'
import type { AllowedNetworks } from '../../jobs/rules/core/outbound-address.ts'

/** Agents for addresses that clients gave. */
export interface GuardedAgents {
  /** Reaches public addresses and the allowed networks. */
  readonly https: Agent
  /** Reaches the allowed networks only: what is sent plainly is not to cross a public one. */
  readonly http: PlainAgent
  destroy(): void
}

/** A connection was refused because of its address. */
class BlockedAddress extends Error {
  readonly code = 'EBLOCKED'
}

/**
 * Agents that check a literal address, which Node.js never looks up, before they connect. They check every
 * address that a name resolves to and dial only those, so that a second answer of the name server
 * changes nothing. They check the address that they have reached before they send a byte.
 */
export function guardedAgents(
  allowed: AllowedNetworks,
  { resolve = resolveName, ca, ...options }: AgentOptions & { readonly resolve?: Resolve } = {},
): GuardedAgents {
  const settings: AgentOptions = {
    // Each request has a connection of its own. A kept one may be reset just as the next request is
    // written; whether the receiver has read it is then unknown, and an event sent once is lost.
    keepAlive: false,
    maxTotalSockets: 256,
    ...options,
  }
  const https = new Agent({
    // Made once: each connection would read all certificates of the authorities again.
    secureContext: createSecureContext(ca ? { ca } : {}),
    // A resumed session would skip the certificate check of the first one.
    maxCachedSessions: 0,
    ...settings,
  })
  const http = new PlainAgent(settings)
  guard(https, resolve, (address) => isAllowedAddress(address, allowed))
  guard(http, resolve, (address) => isInNetworks(address, allowed))
  return {
    https,
    http,
    destroy() {
      https.destroy()
      http.destroy()
    },
  }
}

/** Lets an agent reach only the addresses that `mayReach` accepts. */
function guard(agent: PlainAgent, resolve: Resolve, mayReach: (address: string) => boolean) {
  function check(address: string) {
    if (!mayReach(address)) throw new BlockedAddress(`${address} may not be reached`)
  }
  const lookUp = callbackify(async (name: string) => {
    const addresses = await resolve(name)
    addresses.forEach(check)
    if (addresses.length > 0) return addresses
    throw Object.assign(new Error(`No address of ${name}`), { code: 'ENOTFOUND' })
  })
  const guardedLookup: LookupFunction = (name, { all }, done) => {
    lookUp(name, (error, addresses) => {
      if (error) return done(error, [])
      const answers = addresses.map((address) => ({ address, family: isIP(address) }))
      if (all) return done(null, answers)
      return done(null, answers[0]?.address ?? '', answers[0]?.family)
    })
  }
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (target, done) => {
    const host = (target.host ?? '').replace(/^\[|\]$/g, '')
    if (isIP(host)) check(host)
    const options = { ...target, lookup: guardedLookup, autoSelectFamily: true }
    const socket = connect(options, done) as Socket
    socket.once('connect', () => {
      try {
        check(socket.remoteAddress ?? '')
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    return socket
  }
}

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<string[]>

/**
 * Asks the name servers directly. getaddrinfo would hold one of the four threads it shares with the
 * file system for as long as a name server is silent. It is asked second, for names that only the
 * machine knows.
 */
async function resolveName(name: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

const DNS_TIMEOUT_MS = 1500
