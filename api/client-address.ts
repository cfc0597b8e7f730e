import type { Request } from '@hapi/hapi'
import ipaddr from 'ipaddr.js'

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

/** The client's address, of IPv6 its /64 network. */
export function addressOf(request: Request, trusted: readonly AddressRange[]): string {
  const forwarded = request.headers['x-forwarded-for'] as string | undefined
  return clientAddress(request.info.remoteAddress, forwarded, trusted)
}

/**
 * The address a request came from: the nearest one that is not a trusted proxy. Each proxy appends to
 * `X-Forwarded-For` whom it heard from, so only what trusted ones appended is believed.
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
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
