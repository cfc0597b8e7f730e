import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { DATASET_TYPES } from '../../jobs/rules/dataset-recipe.ts'
import { countDatasets, listDatasets } from '../../sql/datasets.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { datasetBody, showDataset } from './dataset-fields.ts'

export const listDatasetsOperation = endpoint('GET', '/datasets', {
  area: 'datasets',
  summary: 'List datasets, newest first',
  access: 'key',
  query: shape({}, { dataset_type: oneOf(...DATASET_TYPES), project: projectField, ...pageQuery }),
  answers: {
    200: Joi.object({ datasets: listOf(datasetBody).required(), ...listMembers }).label(
      'DatasetList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const page = { limit: query.limit ?? 50, offset: query.offset ?? 0 }
    const cursor = decodeCursor(query.cursor)
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      datasetType: query.dataset_type,
      before: cursor && { created_at: cursor.at, id: cursor.id },
      offset: page.offset,
      limit: page.limit + 1,
    }
    const [rows, counted] = await Promise.all([
      listDatasets(sql, principal.orgId, filter),
      countDatasets(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('datasets', page, rows, counted, showDataset, (row) => [
      row.created_at,
      row.id,
    ])
  },
})
