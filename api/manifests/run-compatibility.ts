import { TRACE_WINDOW_DAYS } from '../../jobs/rules/manifests/compat-policy.ts'
import { int, shape, uuidReference } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { errorBody, EXAMPLE_ID, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { findComparedManifest, findVisibleManifest, manifestPath } from './manifest.ts'
import { readReport, reportBody, viewReport } from './report.ts'
import { admitAnalysis } from './admit-analysis.ts'

export const runCompatibility = endpoint('POST', '/manifests/{manifest_id}/compatibility/run', {
  summary: 'Decide on each trace of an older manifest under this one',
  description:
    'Long work: answers 200 with the report when it is done within the preferred wait, else 202.',
  access: 'key',
  params: manifestPath,
  body: shape(
    { old_manifest_id: uuidReference() },
    { trace_window_days: int(1, 365).default(TRACE_WINDOW_DAYS).description('Days back from now') },
  )
    .label('CompatibilityRequest')
    .example({ old_manifest_id: EXAMPLE_ID }),
  headers: waitHeaders,
  answers: { 200: reportBody, 202: reportBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, body } = call
    const after = await findVisibleManifest(context, principal, params.manifest_id)
    const before = await findComparedManifest(context, principal, after, body.old_manifest_id)
    if (after.id === before.id) throw badRequest('A manifest cannot be compared with itself')
    const { id, job_id } = await admitAnalysis(
      context,
      principal,
      before,
      after,
      body.trace_window_days,
    )
    return answerLongWork(call, job_id, 200, async () =>
      viewReport(await readReport(context.sql, principal.orgId, id)),
    )
  },
})
