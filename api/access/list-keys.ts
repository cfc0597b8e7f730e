import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as apiKeys from '../../sql/access/api-keys.ts'
import { endpoint } from '../endpoint.ts'
import { nullable, offsetMembers, offsetQuery, times } from '../fields.ts'
import { keyFields } from './key.ts'

export const listKeys = endpoint('GET', '/api-keys', {
  summary: "List the organization's API keys, newest first, without the revoked ones",
  access: 'global',
  query: shape({}, offsetQuery),
  answers: {
    200: Joi.object({
      api_keys: listOf(
        Joi.object({ ...keyFields, last_used_at: nullable(times) }).label('ApiKey'),
      ).required(),
      ...offsetMembers,
    }).label('ApiKeyList'),
  },
  async handle({ context, principal, query: { limit, offset } }) {
    const rows = await apiKeys.listKeys(context.sql, principal.orgId, limit, offset)
    const api_keys = rows.map(({ org_id: _, total: __, revoked_at: ___, ...key }) => key)
    return { api_keys, total: rows[0]?.total ?? 0, limit, offset }
  },
})
