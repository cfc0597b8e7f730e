import Joi from 'joi'
import { deleteSession } from '../../sql/access/sessions.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { forbidden } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { headerOf } from '../header.ts'
import { isSameOrigin } from '../origin.ts'
import { hashSessionToken, readSessionCookie, sessionCookie } from '../session-cookie.ts'

export const endSession = endpoint('DELETE', '/auth/session', {
  summary: 'End the browser session of the cookie',
  description: 'Answers alike when there is none.',
  // Whoever holds the cookie may end its session, whatever the permission of its key.
  access: 'public',
  answers: { 204: Joi.any().description('Ended'), 403: errorBody },
  async handle({ context, request }) {
    const token = readSessionCookie(headerOf(request, 'cookie'))
    if (token !== undefined) {
      if (!isSameOrigin(request)) throw forbidden('A session may only be used from the same origin')
      await deleteSession(context.sql, hashSessionToken(token))
    }
    return new Answer(204, null, { 'Set-Cookie': sessionCookie(request, '', 0) })
  },
})
