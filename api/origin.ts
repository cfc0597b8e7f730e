import type { Request } from '@hapi/hapi'
import { headerOf } from './header.ts'

/**
 * Whether a browser reports that a page of this server made the request. False without a report, as from
 * programs that are not browsers.
 */
export function isSameOrigin(request: Request): boolean {
  const site = headerOf(request, 'sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  return hostOf(headerOf(request, 'origin')) === headerOf(request, 'host')
}

/** Whether a browser reports that a page of another site made the request. */
export function isCrossOrigin(request: Request): boolean {
  const { headers } = request
  const isReported = headers['sec-fetch-site'] !== undefined || headers['origin'] !== undefined
  return isReported && !isSameOrigin(request)
}

/** The scheme is left out of the comparison: behind a proxy that ends TLS it is not the client's. */
function hostOf(origin: string | undefined) {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : ''
}
