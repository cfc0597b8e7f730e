import Joi from 'joi'
import { shape, uuidReference } from '../../jobs/shape.ts'
import * as apiKeys from '../../sql/access/api-keys.ts'
import { audit } from '../audit.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, times } from '../fields.ts'

export const revokeKey = endpoint('DELETE', '/api-keys/{key_id}', {
  summary: 'Revoke an API key',
  description:
    'Holds for every request that starts after this answer. The record is kept for audit.',
  access: 'global',
  params: shape({ key_id: uuidReference() }),
  answers: {
    200: Joi.object({
      id: Joi.string().guid().required(),
      revoked: Joi.boolean().valid(true).required(),
      revoked_at: times.required(),
    }).label('RevokedApiKey'),
    404: errorBody,
  },
  async handle({ context, principal, params }) {
    const revoked_at = await context.sql.begin(async (tx) => {
      const at = await apiKeys.revokeKey(tx, principal.orgId, params.key_id)
      if (at) await audit(tx, principal, 'api_key.revoked', params.key_id, {})
      return at
    })
    if (!revoked_at) throw notFound('API key')
    return { id: params.key_id, revoked: true, revoked_at }
  },
})
