import Joi from 'joi'
import { shape, uuidReference } from '../../jobs/shape.ts'
import * as keySessions from '../../sql/access/sessions.ts'
import { audit } from '../audit.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'

export const endSessionOfKey = endpoint('DELETE', '/api-keys/{key_id}/sessions/{session_id}', {
  summary: 'End a browser session that acts as an API key',
  description: 'Holds for every request that starts after this answer.',
  access: 'global',
  params: shape({ key_id: uuidReference(), session_id: uuidReference() }),
  answers: { 204: Joi.any().description('Ended'), 404: errorBody },
  async handle({ context, principal, params }) {
    const { key_id: keyId, session_id: id } = params
    const label = await context.sql.begin(async (tx) => {
      const ofKey = await keySessions.endSession(tx, principal.orgId, keyId, id)
      if (ofKey !== undefined) await audit(tx, principal, 'session.ended', id, { label: ofKey })
      return ofKey
    })
    if (label === undefined) throw notFound('Session')
    return new Answer(204, null)
  },
})
