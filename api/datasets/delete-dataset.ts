import { CANCEL_CHANNEL } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/db.ts'
import { deleteDataset } from '../../sql/datasets.ts'
import { listBuilding } from '../../sql/dataset-versions.ts'
import { requestCancel } from '../../sql/jobs.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody, noBody } from '../fields.ts'
import { datasetPath, findVisibleDataset } from './dataset-fields.ts'

export const deleteDatasetOperation = endpoint('DELETE', '/datasets/{dataset_id}', {
  area: 'datasets',
  summary: 'Delete a dataset with its versions and files',
  description: 'Builds that are under way are cancelled. Traces stay.',
  access: 'key',
  params: datasetPath,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const { orgId } = principal
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const files = await context.sql.begin(async (tx: Transaction) => {
      for (const jobId of await listBuilding(tx, orgId, dataset.id)) {
        await requestCancel(tx, orgId, jobId)
        await tx`select pg_notify(${CANCEL_CHANNEL}, ${jobId})`
      }
      return deleteDataset(tx, orgId, dataset.id)
    })
    for (const key of files) await context.storage.delete(key)
    return new Answer(204, null)
  },
})
