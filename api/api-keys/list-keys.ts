import Joi from 'joi'
import { int, listOf, shape } from '../../jobs/shape.ts'
import { listKeys } from '../../sql/api-keys.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, nullable, times } from '../fields.ts'
import { keyFields } from './show-key.ts'

export const listKeysOperation = endpoint('GET', '/api-keys', {
  area: 'api-keys',
  summary: "List the organization's API keys, newest first, without the revoked ones",
  access: 'global',
  query: shape({}, { limit: int(1, 500).default(50), offset: int(0, 10_000).default(0) }),
  answers: {
    200: Joi.object({
      api_keys: listOf(
        Joi.object({ ...keyFields, last_used_at: nullable(times) }).label('ApiKey'),
      ).required(),
      total: listMembers.total,
      limit: listMembers.limit,
      offset: listMembers.offset,
    }).label('ApiKeyList'),
  },
  async handle({ context, principal, query: { limit = 50, offset = 0 } }) {
    const rows = await listKeys(context.sql, principal.orgId, limit, offset)
    const api_keys = rows.map(({ org_id: _, total: __, revoked_at: ___, ...key }) => key)
    return { api_keys, total: rows[0]?.total ?? 0, limit, offset }
  },
})
