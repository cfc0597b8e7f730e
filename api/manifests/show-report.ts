import { shape, uuid } from '../../jobs/shape.ts'
import { findReport } from '../../sql/compat-reports.ts'
import type { ApiContext } from '../context.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { findVisibleManifest } from './find-manifest.ts'
import { reportBody, showReport } from './report-fields.ts'

export const reportPath = shape({ manifest_id: uuid(), report_id: uuid() })

export const showReportOperation = endpoint(
  'GET',
  '/manifests/{manifest_id}/compatibility/{report_id}',
  {
    area: 'manifests',
    summary: 'Read a compatibility report',
    access: 'key',
    params: reportPath,
    answers: { 200: reportBody, 404: errorBody },
    handle: async ({ context, principal, params }) =>
      showReport(await findVisibleReport(context, principal, params)),
  },
)

/** @throws ApiError 404 for a report that is none of this manifest */
export async function findVisibleReport(
  context: ApiContext,
  principal: Principal,
  params: { manifest_id: string; report_id: string },
) {
  const manifest = await findVisibleManifest(context, principal, params.manifest_id)
  const report = await findReport(context.sql, principal.orgId, params.report_id)
  if (report?.new_manifest_id !== manifest.id) throw notFound('Compatibility report')
  return report
}
