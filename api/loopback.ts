import type { Request } from '@hapi/hapi'
import ipaddr from 'ipaddr.js'

/** Whether a host, with or without a port, is a loopback address, such as `127.0.0.1:3000` or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host)
}

/**
 * Whether a request comes from a program on this machine and through no proxy that tells of itself. The host
 * is looked at as well, because a page of another site can lead its own name to this machine.
 */
export function isFromThisMachine({ headers, info }: Request): boolean {
  if (!isLoopbackHost(info.host) || PROXY_HEADERS.some((name) => name in headers)) return false
  return isLoopbackAddress(info.remoteAddress)
}

function isLoopbackAddress(text: string) {
  return ipaddr.isValid(text) && ipaddr.process(text).range() === 'loopback'
}

const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]
