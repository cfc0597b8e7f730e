import type { Request } from '@hapi/hapi'
import ipaddr from 'ipaddr.js'
import { headerOf } from './header.ts'

export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** @param text addresses and CIDR ranges, separated by commas @throws TypeError for anything else */
export function readRanges(text: string): AddressRange[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map((word) => {
      if (ipaddr.isValidCIDR(word)) return ipaddr.parseCIDR(word)
      if (!ipaddr.isValid(word)) throw new TypeError(`Not an address or range: ${word}`)
      const address = ipaddr.process(word)
      return [address, address.kind() === 'ipv4' ? 32 : 128]
    })
}

/** The client's IPv4 address, or the /64 network of its IPv6 address. */
export function addressOf(request: Request, trusted: readonly AddressRange[]): string {
  const forwarded = headerOf(request, 'x-forwarded-for')
  return clientAddress(request.info.remoteAddress, forwarded, trusted)
}

/**
 * The address a request came from: the nearest one that is not a trusted proxy. Each proxy appends to
 * `X-Forwarded-For` the address that it was called from, so only what trusted ones appended is believed.
 */
export function clientAddress(
  remote: string,
  forwardedFor: string | undefined,
  trusted: readonly AddressRange[],
): string {
  const hops = (forwardedFor ?? '').split(',').map((hop) => hop.trim())
  let nearest = normalise(remote)
  while (nearest && isWithin(nearest, trusted)) {
    const hop = normalise(hops.pop() ?? '')
    if (!hop) break
    nearest = hop
  }
  return nearest ? networkOf(nearest) : 'unknown'
}

/**
 * What a connection counts against: its IPv4 address or the /64 network of its IPv6 address. Undefined
 * for a trusted proxy, whose connections are those of many clients.
 */
export function connectionAddress(
  remote: string | undefined,
  trusted: readonly AddressRange[],
): string | undefined {
  const address = normalise(remote ?? '')
  if (!address) return 'unknown'
  return isWithin(address, trusted) ? undefined : networkOf(address)
}

function normalise(text: string) {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, ranges: readonly AddressRange[]) {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  )
}

/** One household or server holds a whole IPv6 /64. */
function networkOf(address: ipaddr.IPv4 | ipaddr.IPv6) {
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
