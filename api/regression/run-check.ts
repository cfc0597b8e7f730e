import { endpoint } from '../endpoint.ts'
import { errorBody, quotaBody, waitHeaders } from '../fields.ts'
import { answerLongWork } from '../wait.ts'
import { checkBody, noReportBody } from './check-body.ts'
import { findCompared, requestBody, requestQuery } from './check-request.ts'
import type { CheckCall, Compared } from './check-request.ts'
import { readCheck, viewCheck } from './check.ts'
import { runDry } from './dry-run.ts'
import { requireReport } from './require-report.ts'
import { submitOnce } from './submit-once.ts'

export const runCheck = endpoint('POST', '/regression-check', {
  summary: 'Tell what a candidate manifest breaks in recorded traffic',
  description:
    'Long work: 200 with the complete report. One that takes longer is 202 for a client that sent `Prefer: respond-async` or `wait=`; for any other it is 503 with `code: still_running`, and the same request again attaches to the check under way without being charged again. `verdict` is high_risk, medium_risk, low_risk, no_change, unverified (changes, and no trace to measure them by: never a pass) or first_run (no baseline: the candidate becomes it). With `dry_run` nothing is registered, counted or kept; after a 202, `result.findings` of the job holds what was found.',
  access: 'key',
  attaches: true,
  query: requestQuery,
  body: requestBody,
  headers: waitHeaders,
  answers: { 200: checkBody, 202: checkBody, 402: quotaBody, 404: errorBody, 503: noReportBody },
  async handle(call) {
    const compared = await findCompared(call)
    return call.query.dry_run ? runDry(call, compared) : runKept(call, compared)
  },
})

async function runKept(call: CheckCall, compared: Compared) {
  const { context, principal } = call
  const submitted = await submitOnce(call, compared)
  const answer = await answerLongWork(call, submitted.job_id, 200, async () =>
    viewCheck(await readCheck(context.sql, principal.orgId, submitted.check_id ?? '')),
  )
  return requireReport(call, submitted, answer)
}
