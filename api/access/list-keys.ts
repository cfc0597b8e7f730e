import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as apiKeys from '../../sql/access/api-keys.ts'
import { endpoint } from '../endpoint.ts'
import { nullable, pageQuery, shortListMembers, times } from '../fields.ts'
import { pageMembers, readPage } from '../pagination.ts'
import { keyFields } from './key.ts'

export const listKeys = endpoint('GET', '/api-keys', {
  summary: "List the organization's API keys, newest first, without the revoked ones",
  access: 'global',
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({
      api_keys: listOf(
        Joi.object({ ...keyFields, last_used_at: nullable(times) }).label('ApiKey'),
      ).required(),
      ...shortListMembers,
    }).label('ApiKeyList'),
  },
  async handle({ context, principal, query }) {
    const page = readPage(query)
    const { rows, total } = await apiKeys.listKeys(context.sql, principal.orgId, page)
    const api_keys = rows.map(({ org_id: _, revoked_at: __, ...key }) => key)
    return { api_keys, ...pageMembers(page, total) }
  },
})
