import { randomUUIDv7 } from 'node:crypto'
import type { Transaction } from '../../sql/core/db.ts'
import { insertCheck } from '../../sql/regression/checks.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, quotaBody } from '../fields.ts'
import { charge } from '../quota.ts'
import { answerLongWork } from '../wait.ts'
import { checkBody } from './check-body.ts'
import { findCompared, requestBody, requestQuery, submitCheck } from './check-request.ts'
import type { CheckCall, Compared } from './check-request.ts'
import { readCheck, viewCheck } from './check.ts'
import { runDry } from './dry-run.ts'

export const runCheck = endpoint('POST', '/regression-check', {
  summary: 'Tell what a candidate manifest breaks in recorded traffic',
  description:
    'Long work: 200 with the complete report, or 202 while it is made. `verdict` is high_risk, medium_risk, low_risk, no_change, unverified (changes, and no trace to measure them by: never a pass) or first_run (no baseline: the candidate becomes it). With `dry_run` nothing is registered, counted or kept; after a 202, `result.findings` of the job holds what was found.',
  access: 'key',
  query: requestQuery,
  body: requestBody,
  answers: { 200: checkBody, 202: checkBody, 402: quotaBody, 404: errorBody },
  async handle(call) {
    const compared = await findCompared(call)
    return call.query.dry_run ? runDry(call, compared) : runKept(call, compared)
  },
})

async function runKept(call: CheckCall, compared: Compared) {
  const { context, principal, body } = call
  const { candidate, baseline } = compared
  const id = randomUUIDv7()
  const jobId = await context.queue.transaction(context.sql, async (tx: Transaction) => {
    const job_id = await submitCheck(call, tx, compared, id)
    await insertCheck(tx, principal.orgId, {
      id,
      project_id: candidate.project_id,
      agent_name: candidate.agent_name,
      candidate_manifest_id: candidate.id,
      baseline_manifest_id: baseline?.id ?? null,
      job_id,
      trace_window_days: body.trace_window_days,
      source: body.source ?? null,
      pr_context: body.pr_context ?? null,
      created_at: context.now(),
    })
    await charge(context, tx, principal, 'regression_checks', 1)
    return job_id
  })
  return answerLongWork(call, jobId, 200, async () =>
    viewCheck(await readCheck(context.sql, principal.orgId, id)),
  )
}
