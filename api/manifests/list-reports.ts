import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import * as compatReports from '../../sql/manifests/compat-reports.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, listMembers, pageQuery } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { findVisibleManifest, manifestPath } from './manifest.ts'
import { reportBody, viewReport } from './report.ts'

export const listReports = endpoint('GET', '/manifests/{manifest_id}/compatibility', {
  summary: 'List the compatibility reports of a manifest, newest first',
  access: 'key',
  params: manifestPath,
  query: shape({}, pageQuery),
  answers: {
    200: Joi.object({ reports: listOf(reportBody).required(), ...listMembers }).label(
      'CompatReportList',
    ),
    404: errorBody,
  },
  async handle({ context, principal, params, query: { limit, offset, cursor } }) {
    const { id } = await findVisibleManifest(context, principal, params.manifest_id)
    const page = { limit: limit + 1, offset, before: decodeCursor(cursor) }
    const [rows, counted] = await Promise.all([
      compatReports.listReports(context.sql, principal.orgId, id, page),
      compatReports.countReports(context.sql, principal.orgId, id, COUNT_LIMIT + 1),
    ])
    return listAnswer('reports', { limit, offset }, rows, counted, viewReport, ageKey)
  },
})
