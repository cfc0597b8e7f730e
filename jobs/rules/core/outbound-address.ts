import ipaddr from 'ipaddr.js'

/** Networks that may be reached although they are not public; see OUTBOUND_ALLOW_CIDRS. */
export type AllowedNetworks = readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[]

/** @throws Error for what is not a comma-separated list of CIDRs */
export function parseNetworks(list: string): AllowedNetworks {
  return list
    .split(',')
    .map((cidr) => cidr.trim())
    .filter((cidr) => cidr !== '')
    .map((cidr) => ipaddr.parseCIDR(cidr))
}

/**
 * Whether a connection to this address may be made: public unicast addresses and the allowed networks,
 * nothing else. IPv4 in IPv6 counts as the IPv4 address.
 */
export function isAllowedAddress(address: string, allowed: AllowedNetworks): boolean {
  const ip = readAddress(address)
  if (!ip) return false
  return (
    isIn(ip, allowed) || (ip.range() === 'unicast' && !isIn(ip, HOST_LOCAL) && isAssignable(ip))
  )
}

/** Whether an address is in one of the networks; nothing but an address is. */
export function isInNetworks(address: string, networks: AllowedNetworks): boolean {
  const ip = readAddress(address)
  return ip !== undefined && isIn(ip, networks)
}

/**
 * Why a client's URL cannot be an address of ours to call, or undefined. Names are checked again when
 * they are resolved, at every connection.
 */
export function findUrlFault(
  text: string,
  schemes: readonly string[] = ['https://'],
): string | undefined {
  if (!schemes.some((scheme) => text.startsWith(scheme))) {
    return `must start with ${schemes.join(' or ')}`
  }
  const isText = text.length <= MAX_URL_LENGTH && text.isWellFormed()
  if (!isText || /[\0-\x20\x7f\\]/.test(text) || !URL.canParse(text)) {
    return 'must be a valid URL'
  }
  const { username, password } = new URL(text)
  return username || password ? 'must not hold credentials' : undefined
}

/**
 * Why a client's URL cannot be that of a runner or a platform, or undefined: as `findUrlFault`, and besides whether
 * its host may be reached, as far as that is known before names are resolved. Plain http leads into the
 * allowed networks only; where there are none, no http URL can be reached.
 */
export function findCalledUrlFault(text: string, allowed: AllowedNetworks): string | undefined {
  const fault = findUrlFault(text, CALLED_SCHEMES)
  if (fault) return fault
  const host = hostOf(text)
  const isAddress = ipaddr.isValid(host)
  if (text.startsWith('http://')) {
    const mayBeAllowed = isAddress ? isInNetworks(host, allowed) : allowed.length > 0
    return mayBeAllowed ? undefined : NOT_HTTP
  }
  return isAddress && !isAllowedAddress(host, allowed) ? NOT_REACHED : undefined
}

const NOT_HTTP =
  'must start with https://; http leads only into networks that the operator allows (OUTBOUND_ALLOW_CIDRS)'
/** What is said of an address in a private network, whether a URL has it or its name resolves to it. */
export const NOT_REACHED =
  'leads to an address that may not be reached: it is neither public nor in a network that the operator allows (OUTBOUND_ALLOW_CIDRS)'

/** Host of a URL as an address or a name, in its canonical spelling. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** Undefined for what is no address. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [bare = ''] = text.split('%')
  if (!ipaddr.isValid(bare)) return undefined
  // The package takes the dotted form of an address of ::/96 for the IPv4 address that is in it.
  return ipaddr.process(bare.replace(/^::(?=\d+\.)/, '::0:'))
}

/**
 * IANA gives out global IPv6 addresses from one block only. Outside it are those that hold an IPv4
 * address (`::/96`, NAT64), those that are dropped, and those of special meaning still to come.
 */
function isAssignable(ip: ipaddr.IPv4 | ipaddr.IPv6) {
  return ip.kind() === 'ipv4' || isIn(ip, GLOBAL_IPV6)
}

function isIn(ip: ipaddr.IPv4 | ipaddr.IPv6, networks: AllowedNetworks) {
  return networks.some(
    ([network, bits]) => ip.kind() === network.kind() && ip.match(network as never, bits),
  )
}

/** Public by registration, but the cloud host's own on some providers. */
const HOST_LOCAL: AllowedNetworks = [ipaddr.parseCIDR('168.63.129.16/32')]
const GLOBAL_IPV6: AllowedNetworks = [ipaddr.parseCIDR('2000::/3')]
/** What the URL of a runner or a platform starts with. */
export const CALLED_SCHEMES = ['https://', 'http://']
const MAX_URL_LENGTH = 2048
