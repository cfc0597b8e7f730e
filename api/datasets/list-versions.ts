import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as versions from '../../sql/datasets/versions.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { decodeNumberCursor, encodeCursor, listAnswer } from '../pagination.ts'
import { datasetPath, findVisibleDataset } from './dataset.ts'
import { versionBody, viewVersions } from './version.ts'

export const listVersions = endpoint('GET', '/datasets/{dataset_id}/versions', {
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
    const page = { limit: query.limit, offset: query.offset }
    const rows = await versions.listVersions(context.sql, principal.orgId, dataset.id, {
      before: decodeNumberCursor(query.cursor),
      offset: page.offset,
      limit: page.limit + 1,
    })
    const shown = await viewVersions(context, principal.orgId, rows.slice(0, page.limit))
    const last = shown.at(-1)
    return {
      ...listAnswer(
        'versions',
        page,
        shown,
        dataset.version_count,
        (version) => version,
        ({ version_number }) => [version_number],
      ),
      // A page ends early where its versions have very many files.
      next_cursor: last && shown.length < rows.length ? encodeCursor([last.version_number]) : null,
    }
  },
})
