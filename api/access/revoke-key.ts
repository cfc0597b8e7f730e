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
    const { key_id: id } = params
    const revoked = await context.sql.begin(async (tx) => {
      const key = await apiKeys.revokeKey(tx, principal.orgId, id)
      if (key) await audit(tx, principal, 'api_key.revoked', id, { label: key.label })
      return key
    })
    if (!revoked) throw notFound('API key')
    return { id, revoked: true, revoked_at: revoked.revoked_at }
  },
})
