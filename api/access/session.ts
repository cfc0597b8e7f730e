import { randomBytes } from 'node:crypto'
import type { Request } from '@hapi/hapi'
import type { Transaction } from '../../sql/core/db.ts'
import { insertSession } from '../../sql/access/sessions.ts'
import { hashSessionToken, sessionCookie } from '../session-cookie.ts'

/** How long a session lasts at most. */
export const SESSION_HOURS = 12

/**
 * Makes a session that acts as a key.
 * @returns when it is over, and the headers that give it to the browser; undefined for a key that is revoked
 * or expired
 */
export async function makeSession(
  tx: Transaction,
  request: Request,
  key: { readonly org_id: string; readonly key_id: string },
  now: Date,
) {
  const token = randomBytes(32).toString('base64url')
  const seconds = SESSION_HOURS * 3600
  const expiresAt = await insertSession(tx, {
    ...key,
    token_hash: hashSessionToken(token),
    expires_at: new Date(now.getTime() + seconds * 1000),
  })
  if (!expiresAt) return undefined
  const headers = {
    'Set-Cookie': sessionCookie(request, token, seconds),
    'Cache-Control': 'no-store',
  }
  return { expiresAt, headers }
}
