import { int, shape, uuid } from '../../jobs/shape.ts'
import { findReport } from '../../sql/compat-reports.ts'
import type { CompatReportRow } from '../../sql/compat-reports.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { EXAMPLE_ID, errorBody } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { findVisibleManifest } from './find-manifest.ts'
import { reportBody, showReport } from './report-fields.ts'
import { startAnalysis } from './start-analysis.ts'

export const runCompatibility = endpoint('POST', '/manifests/{manifest_id}/compatibility/run', {
  area: 'manifests',
  summary: 'Decide on each trace of an older manifest under this one',
  description:
    'Long work: answers 200 with the report when it is done within the preferred wait, else 202.',
  access: 'key',
  params: shape({ manifest_id: uuid() }),
  body: shape(
    { old_manifest_id: uuid() },
    { trace_window_days: int(1, 365).default(30).description('Days back from now') },
  )
    .label('CompatibilityRequest')
    .example({ old_manifest_id: EXAMPLE_ID }),
  answers: { 200: reportBody, 202: reportBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, body } = call
    const after = await findVisibleManifest(context, principal, params.manifest_id)
    const before = await findVisibleManifest(context, principal, body.old_manifest_id)
    if (after.id === before.id) throw badRequest('A manifest cannot be compared with itself')
    if (after.agent_name !== before.agent_name || after.project_id !== before.project_id) {
      throw badRequest('The manifests belong to different agents')
    }
    const days = body.trace_window_days ?? 30
    const { id, job_id } = await startAnalysis(context, principal, before, after, days)
    return answerLongWork(call, job_id, 200, async () =>
      showReport((await findReport(context.sql, principal.orgId, id)) as CompatReportRow),
    )
  },
})
