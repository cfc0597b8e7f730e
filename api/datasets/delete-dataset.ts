import type { Transaction } from '../../sql/core/db.ts'
import * as datasets from '../../sql/datasets/datasets.ts'
import { listUnfinished } from '../../sql/datasets/versions.ts'
import { cancelJob } from '../../sql/transactions/cancel-job.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody, noBody } from '../fields.ts'
import { datasetPath, findVisibleDataset } from './dataset.ts'

export const deleteDataset = endpoint('DELETE', '/datasets/{dataset_id}', {
  summary: 'Delete a dataset with its versions and files',
  description: 'Builds and pushes that are under way are canceled. Traces stay.',
  access: 'key',
  params: datasetPath,
  answers: { 204: noBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const { orgId } = principal
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const files = await context.sql.begin(async (tx: Transaction) => {
      for (const jobId of await listUnfinished(tx, orgId, dataset.id)) {
        await cancelJob(tx, context.queue, orgId, jobId)
      }
      return datasets.deleteDataset(tx, orgId, dataset.id)
    })
    await deleteFiles(context, files)
    return new Answer(204, null)
  },
})

/** Files that cannot be deleted now have no row any more, so that maintenance sweeps them. */
async function deleteFiles({ storage, log }: ApiContext, keys: readonly string[]) {
  try {
    for (const key of keys) await storage.delete(key)
  } catch (err) {
    log.warn({ err }, 'files of a deleted dataset are left to be swept')
  }
}
