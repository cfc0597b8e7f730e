import type { Lifecycle } from '@hapi/hapi'
import { fullPath } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Tells clients of a deprecated path, with every answer, since when it is (RFC 9745) and that the
 * operation's own path is its successor (RFC 5829).
 */
export function announceSuccessor({ path }: Endpoint, since: Date): Lifecycle.Method {
  const deprecation = `@${Math.floor(since.getTime() / 1000)}`
  return (request, h) => {
    const params = request.params as Readonly<Record<string, string>>
    const successor = fullPath(path).replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(params[name] ?? ''),
    )
    const { response } = request
    // Errors have become answers by now.
    if ('header' in response) {
      response.header('Deprecation', deprecation)
      response.header('Link', `<${successor}>; rel="successor-version"`)
    }
    return h.continue
  }
}
