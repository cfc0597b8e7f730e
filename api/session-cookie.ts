import type { Request } from '@hapi/hapi'
import { createHash } from 'node:crypto'

/** Value of the session cookie in a `Cookie` header. */
export function readSessionCookie(header: string | undefined): string | undefined {
  return /(?:^|;) *service_session=([^;]*)/.exec(header ?? '')?.[1]?.trim()
}

/** What is stored of a session's token. */
export function hashSessionToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** A `Set-Cookie` value; browsers refuse `Secure` cookies of plain HTTP, which only a loopback may speak. */
export function sessionCookie(request: Request, token: string, maxAgeSeconds: number): string {
  const secure = isPlainLoopback(request) ? '' : '; Secure'
  return `service_session=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}

function isPlainLoopback({ headers, info }: Request) {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(info.host)
  return isLoopback && headers['x-forwarded-proto'] !== 'https'
}
