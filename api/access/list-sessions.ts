import Joi from 'joi'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import * as keySessions from '../../sql/access/sessions.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable, times } from '../fields.ts'

export const listSessions = endpoint('GET', '/api-keys/{key_id}/sessions', {
  summary: 'List the browser sessions that act as an API key, newest first',
  description: `At most ${keySessions.SESSIONS_OF_KEY}, as a key has no more.`,
  access: 'global',
  params: shape({ key_id: uuidReference() }),
  answers: {
    200: Joi.object({
      sessions: listOf(
        Joi.object({
          id: Joi.string().guid().required(),
          created_at: times.required(),
          expires_at: times.required(),
          last_used_at: nullable(times),
          is_current: Joi.boolean().required().description('The request came with it'),
        }).label('Session'),
      ).required(),
    }).label('SessionList'),
    404: errorBody,
  },
  async handle({ context, principal, params }) {
    const rows = await keySessions.listSessions(context.sql, principal.orgId, params.key_id)
    if (!rows) throw notFound('API key')
    const sessions = rows.map((row) => ({ ...row, is_current: row.id === principal.session?.id }))
    return { sessions }
  },
})
