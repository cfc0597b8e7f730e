import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleReport, reportBody, reportPath, viewReport } from './report.ts'

export const showReport = endpoint('GET', '/manifests/{manifest_id}/compatibility/{report_id}', {
  summary: 'Read a compatibility report',
  access: 'key',
  params: reportPath,
  answers: { 200: reportBody, 404: errorBody },
  handle: async ({ context, principal, params }) =>
    viewReport(await findVisibleReport(context, principal, params)),
})
