import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { datasetPath, findVisibleDataset } from './dataset.ts'
import { answerPushes, pushesBody, pushesQuery } from './push.ts'

export const listDatasetPushes = endpoint('GET', '/datasets/{dataset_id}/pushes', {
  summary: 'List the pushes of all versions of a dataset, newest first',
  access: 'key',
  params: datasetPath,
  query: pushesQuery,
  answers: { 200: pushesBody, 404: errorBody },
  async handle({ context, principal, params, query }) {
    const { id: datasetId } = await findVisibleDataset(context, principal, params.dataset_id)
    return answerPushes(context.sql, principal.orgId, { datasetId }, query)
  },
})
