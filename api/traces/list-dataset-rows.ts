import Joi from 'joi'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import { listOf, shape } from '../../jobs/shape.ts'
import * as datasetRows from '../../sql/datasets/rows-of-trace.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, errorBody, listMembers, nullable, projectField } from '../fields.ts'
import { COUNT_LIMIT, decodeRowCursor, listAnswer } from '../pagination.ts'
import { findVisibleTrace, tracePath } from './trace.ts'

const rowBody = Joi.object({
  dataset_id: Joi.string().guid().required(),
  dataset_name: Joi.string().required(),
  version_id: Joi.string().guid().required(),
  version_number: Joi.number().integer().required(),
  version_label: Joi.string().required().description('`v` and the number'),
  ordinal: Joi.number().integer().required().description('Place of the row in the version'),
  row_id: Joi.string().required().description('As `provenance.row_id` of the row'),
  split: Joi.string()
    .valid(...SPLITS)
    .required(),
  side: nullable(Joi.string().valid('chosen', 'rejected', 'both')).description(
    'Of a pair, the side that the trace gave; null for a row that is no pair',
  ),
}).label('TraceDatasetRow')

export const listDatasetRows = endpoint('GET', '/traces/{trace_id}/dataset-rows', {
  summary: 'List the dataset rows a trace became, those of the newest version first',
  description: 'Of versions that are ready. Within a version in the order of its rows.',
  access: 'key',
  params: tracePath,
  query: shape({}, { project: projectField, ...cursorQuery }),
  answers: {
    200: Joi.object({ rows: listOf(rowBody).required(), ...listMembers }).label(
      'TraceDatasetRowList',
    ),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query: { project, limit, cursor } }) {
    const after = decodeRowCursor(cursor)
    const trace = await findVisibleTrace(sql, principal, params.trace_id, project)
    const [rows, counted] = await Promise.all([
      datasetRows.listRowsOfTrace(sql, trace, { after, limit: limit + 1 }),
      datasetRows.countRowsOfTrace(sql, trace, COUNT_LIMIT + 1),
    ])
    return listAnswer('rows', { limit, offset: 0 }, rows, counted, viewRow, (row) => [
      row.version_id,
      row.ordinal,
    ])
  },
})

function viewRow(row: datasetRows.RowOfTrace) {
  return { ...row, version_label: `v${row.version_number}` }
}
