import type { Request } from '@hapi/hapi'

/** The value of a header, by its name in lower case; undefined when the request has none. */
export function headerOf({ headers }: Request, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
