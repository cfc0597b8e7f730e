import { randomBytes } from 'node:crypto'
import { shape, text } from '../../jobs/shape.ts'
import { insertSession } from '../../sql/access/sessions.ts'
import { findPrincipal, keyCredential } from '../auth.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { forbidden } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { isCrossOrigin } from '../origin.ts'
import { admit } from '../rate-limit.ts'
import { hashSessionToken, sessionCookie } from '../session-cookie.ts'
import { callerBody, viewCaller } from './caller.ts'

export const openSession = endpoint('POST', '/auth/session', {
  summary: 'Open a browser session with an API key',
  description:
    'Sets the cookie service_session, which acts as the key for 12 hours, or until the key is revoked or expires.',
  access: 'public',
  body: shape({ api_key: text(1024) })
    .label('SessionRequest')
    .example({ api_key: 'svc_sk_...' }),
  answers: { 201: callerBody, 401: errorBody, 403: errorBody },
  async handle({ context, body, request }) {
    // Another site must not log a browser in with a key of that site.
    if (isCrossOrigin(request)) throw forbidden('A session is opened from the same origin only')
    const credential = keyCredential(context.keyPrefix, body.api_key)
    const { principal, rate } = await findPrincipal(context, credential)
    admit(request, rate)
    const token = randomBytes(32).toString('base64url')
    await insertSession(context.sql, {
      org_id: principal.orgId,
      key_id: principal.keyId,
      token_hash: hashSessionToken(token),
      expires_at: new Date(context.now().getTime() + SESSION_SECONDS * 1000),
    })
    return new Answer(201, viewCaller(principal), {
      'Set-Cookie': sessionCookie(request, token, SESSION_SECONDS),
      'Cache-Control': 'no-store',
    })
  },
})

const SESSION_SECONDS = 12 * 3600
