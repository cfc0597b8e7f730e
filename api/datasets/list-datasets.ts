import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { DATASET_TYPES } from '../../jobs/rules/datasets/recipe.ts'
import * as datasets from '../../sql/datasets/datasets.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery, projectField } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import { datasetBody, viewDataset } from './dataset.ts'

export const listDatasets = endpoint('GET', '/datasets', {
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
    const page = { limit: query.limit, offset: query.offset }
    const filter = {
      before: decodeCursor(query.cursor),
      projectIds: await readableProjects(sql, principal, query.project),
      datasetType: query.dataset_type,
      offset: page.offset,
      limit: page.limit + 1,
    }
    const [rows, counted] = await Promise.all([
      datasets.listDatasets(sql, principal.orgId, filter),
      datasets.countDatasets(sql, principal.orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('datasets', page, rows, counted, viewDataset, ageKey)
  },
})
