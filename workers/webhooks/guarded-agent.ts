import { lookup, Resolver } from 'node:dns/promises'
import { Agent } from 'node:https'
import type { AgentOptions } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import { isAllowedAddress } from '../../jobs/rules/core/outbound-address.ts'
import type { AllowedNetworks } from '../../jobs/rules/core/outbound-address.ts'

/** A connection was refused because of its address. */
class BlockedAddress extends Error {
  readonly code = 'EBLOCKED'
}

/**
 * An HTTPS agent that connects only to public addresses and to the allowed networks. It checks a
 * literal address, which Node.js never looks up, before it connects. It checks every address that a
 * name resolves to and dials only those, so that a second answer of the name server changes nothing.
 * It checks the address that it has reached before it sends a byte.
 */
export function guardedAgent(
  allowed: AllowedNetworks,
  options: AgentOptions & { readonly resolve?: Resolve } = {},
): Agent {
  const { resolve = resolveName, ca, ...agentOptions } = options
  const check = (address: string) => {
    if (!isAllowedAddress(address, allowed))
      throw new BlockedAddress(`${address} may not be reached`)
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
  class GuardedAgent extends Agent {
    override createConnection(
      target: AgentOptions,
      done?: (error: Error | null, socket: Socket) => void,
    ) {
      const host = (target.host ?? '').replace(/^\[|\]$/g, '')
      if (isIP(host)) check(host)
      const socket = super.createConnection(
        { ...target, lookup: guardedLookup, autoSelectFamily: true } as never,
        done as never,
      ) as Socket
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
  return new GuardedAgent({
    // Each request has a connection of its own. A kept one may be reset just as the next request is
    // written; whether the receiver has read it is then unknown, and an event sent once is lost.
    keepAlive: false,
    maxTotalSockets: 256,
    // Made once: each connection would read all certificates of the authorities again.
    secureContext: createSecureContext(ca ? { ca } : {}),
    // A resumed session would skip the certificate check of the first one.
    maxCachedSessions: 0,
    ...agentOptions,
  })
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
