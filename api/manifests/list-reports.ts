import Joi from 'joi'
import { listOf, shape, uuid } from '../../jobs/shape.ts'
import { countReports, listReports } from '../../sql/compat-reports.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { findVisibleManifest } from './find-manifest.ts'
import { reportBody, showReport } from './report-fields.ts'

export const listReportsOperation = endpoint('GET', '/manifests/{manifest_id}/compatibility', {
  area: 'manifests',
  summary: 'List the compatibility reports of a manifest, newest first',
  access: 'key',
  params: shape({ manifest_id: uuid() }),
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ reports: listOf(reportBody).required(), ...listMembers }).label(
      'CompatReportList',
    ),
    404: errorBody,
  },
  async handle({ context, principal, params, query: { limit = 50, offset = 0, cursor } }) {
    const { id } = await findVisibleManifest(context, principal, params.manifest_id)
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      listReports(context.sql, principal.orgId, id, page),
      countReports(context.sql, principal.orgId, id, COUNT_LIMIT + 1),
    ])
    return listAnswer('reports', { limit, offset }, rows, counted, showReport, (row) => [
      row.created_at,
      row.id,
    ])
  },
})
