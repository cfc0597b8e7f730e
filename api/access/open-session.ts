import { shape, text } from '../../jobs/shape.ts'
import { SESSIONS_OF_KEY } from '../../sql/access/sessions.ts'
import { findPrincipal, keyCredential } from '../auth.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { forbidden, unauthorized } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { isCrossOrigin } from '../origin.ts'
import { callerBody, viewCaller } from './caller.ts'
import { makeSession, SESSION_HOURS } from './session.ts'

export const openSession = endpoint('POST', '/auth/session', {
  summary: 'Open a browser session with an API key',
  description: `Sets the cookie service_session, which acts as the key for ${SESSION_HOURS} hours, or until the key is revoked or expires. The session has a rate limit of its own, as large as that of the key, and opening it does not wait for that of the key. A key has at most ${SESSIONS_OF_KEY} sessions: another one ends the oldest.`,
  access: 'public',
  body: shape({ api_key: text(1024) })
    .label('SessionRequest')
    .example({ api_key: 'svc_sk_...' }),
  answers: { 201: callerBody, 401: errorBody, 403: errorBody },
  async handle({ context, body, request }) {
    // Another site must not log a browser in with a key of that site.
    if (isCrossOrigin(request)) throw forbidden('A session is opened from the same origin only')
    const credential = keyCredential(context.keyPrefix, body.api_key)
    // The request counts against its address: a key that is in full use keeps nobody out of the console.
    const { principal } = await findPrincipal(context, credential)
    const { orgId: org_id, keyId: key_id } = principal
    const session = await context.sql.begin((tx) =>
      makeSession(tx, request, { org_id, key_id }, context.now()),
    )
    if (!session) throw unauthorized('API key has been revoked')
    const caller = { ...viewCaller(principal), session_expires_at: session.expiresAt }
    return new Answer(201, caller, session.headers)
  },
})
