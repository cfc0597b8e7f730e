import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listVersions } from '../../sql/dataset-versions.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { listAnswer } from '../pagination.ts'
import { decodeNumber } from './number-cursor.ts'
import { datasetPath, findVisibleDataset } from './dataset-fields.ts'
import { showVersions, versionBody } from './show-version.ts'

export const listVersionsOperation = endpoint('GET', '/datasets/{dataset_id}/versions', {
  area: 'datasets',
  summary: 'List the versions of a dataset, newest first',
  access: 'key',
  params: datasetPath,
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ versions: listOf(versionBody).required(), ...listMembers }).label(
      'DatasetVersionList',
    ),
    404: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const page = { limit: query.limit ?? 50, offset: query.offset ?? 0 }
    const versions = await listVersions(context.sql, principal.orgId, dataset.id, {
      before: decodeNumber(query.cursor),
      offset: page.offset,
      limit: page.limit + 1,
    })
    const shown = await showVersions(context, principal.orgId, versions)
    return listAnswer(
      'versions',
      page,
      shown,
      dataset.version_count,
      (version) => version,
      ({ version_number }) => [version_number],
    )
  },
})
