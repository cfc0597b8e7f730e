import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { answerPushes, pushesBody, pushesQuery } from './push.ts'
import { findVisibleVersion, versionPath } from './version.ts'

export const listVersionPushes = endpoint(
  'GET',
  '/datasets/{dataset_id}/versions/{version}/pushes',
  {
    summary: 'List the pushes of a version, newest first',
    access: 'key',
    params: versionPath,
    query: pushesQuery,
    answers: { 200: pushesBody, 404: errorBody },
    async handle({ context, principal, params, query }) {
      const version = await findVisibleVersion(context, principal, params)
      const filter = { datasetId: version.dataset_id, versionId: version.id }
      return answerPushes(context.sql, principal.orgId, filter, query)
    },
  },
)
