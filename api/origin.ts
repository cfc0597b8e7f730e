import type { Request } from '@hapi/hapi'

/**
 * Whether a browser says that the request comes from a page of this server itself. False when it says
 * nothing, as programs that are no browsers do.
 */
export function isSameOrigin({ headers }: Request): boolean {
  const site = headers['sec-fetch-site'] as string | undefined
  if (site !== undefined) return site === 'same-origin'
  return hostOf(headers['origin'] as string | undefined) === (headers.host as string | undefined)
}

/** Whether a browser says that a page of another site made the request. */
export function isCrossOrigin(request: Request): boolean {
  const { headers } = request
  const isSaid = headers['sec-fetch-site'] !== undefined || headers['origin'] !== undefined
  return isSaid && !isSameOrigin(request)
}

/** The scheme is left out of the comparison: behind a proxy that ends TLS it is not the client's. */
function hostOf(origin: string | undefined) {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : ''
}
