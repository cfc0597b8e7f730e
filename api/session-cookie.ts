import type { Request } from '@hapi/hapi'
import { createHash } from 'node:crypto'
import { isLoopbackHost } from './loopback.ts'

/** Value of the session cookie in a `Cookie` header. */
export function readSessionCookie(header: string | undefined): string | undefined {
  return /(?:^|;) *service_session=([^;]*)/.exec(header ?? '')?.[1]?.trim()
}

/** The hash under which a session's token is stored. */
export function hashSessionToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** A `Set-Cookie` value. Browsers refuse `Secure` cookies over plain HTTP, which only a loopback may use. */
export function sessionCookie(request: Request, token: string, maxAgeSeconds: number): string {
  const secure = isPlainLoopback(request) ? '' : '; Secure'
  return `service_session=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}

function isPlainLoopback({ headers, info }: Request) {
  return isLoopbackHost(info.host) && headers['x-forwarded-proto'] !== 'https'
}
