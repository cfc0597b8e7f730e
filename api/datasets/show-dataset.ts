import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { listVersions } from '../../sql/datasets/versions.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { datasetFields, datasetPath, findVisibleDataset, viewDataset } from './dataset.ts'
import { versionBody, viewVersions } from './version.ts'

export const showDataset = endpoint('GET', '/datasets/{dataset_id}', {
  summary: 'Read a dataset with its newest versions',
  access: 'key',
  params: datasetPath,
  answers: {
    200: Joi.object({
      ...datasetFields,
      versions: listOf(versionBody)
        .required()
        .description('Newest first, 50 at most, and fewer where they have more than 10,000 files'),
    }).label('DatasetWithVersions'),
    404: errorBody,
  },
  async handle({ context, principal, params }) {
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const page = { offset: 0, limit: VERSIONS_SHOWN }
    const versions = await listVersions(context.sql, principal.orgId, dataset.id, page)
    return {
      ...viewDataset(dataset),
      versions: await viewVersions(context, principal.orgId, versions),
    }
  },
})

const VERSIONS_SHOWN = 50
