import type { CheckFindings } from '../../jobs/rules/regression/check-findings.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { deleteJob, findJob } from '../../sql/jobs/jobs.ts'
import { Answer } from '../endpoint.ts'
import { answerLongWork } from '../wait.ts'
import { submitCheck } from './check-request.ts'
import type { CheckCall, Compared } from './check-request.ts'
import { viewCheck } from './check.ts'

/**
 * Answers a check of which nothing is kept. The job is deleted with the complete answer; after a 202 it
 * stays until it expires, because the client has to come back for it.
 */
export async function runDry(call: CheckCall, compared: Compared) {
  const { context, principal } = call
  const createdAt = context.now()
  const jobId = await context.queue.transaction(context.sql, (tx: Transaction) =>
    submitCheck(call, tx, compared, null),
  )
  const answer = await answerLongWork(call, jobId, 200, async () => {
    const job = await findJob(context.sql, principal.orgId, jobId)
    const findings = (job?.result?.['findings'] ?? null) as CheckFindings | null
    const outcome = { findings, job_state: job?.state ?? null, job_error: job?.error ?? null }
    return viewCheck({ ...unkept(call, compared), ...outcome, created_at: createdAt })
  })
  if (answer.status !== 200) return answer
  await deleteJob(context.sql, principal.orgId, jobId)
  return new Answer(200, { ...answer.body, job_id: null }, answer.headers)
}

function unkept({ body }: CheckCall, { candidate, baseline }: Compared) {
  return {
    id: null,
    agent_name: candidate.agent_name,
    candidate_manifest_id: candidate.id,
    baseline_manifest_id: baseline?.id ?? null,
    job_id: '',
    trace_window_days: body.trace_window_days,
    source: body.source ?? null,
    pr_context: null,
    call_replay: null,
    human_decision: null,
    decision_note: null,
    decided_at: null,
    completed_at: null,
    candidate_version: candidate.version_number,
    candidate_hash: candidate.shown_hash,
    baseline_version: baseline?.version_number ?? null,
    baseline_hash: baseline?.shown_hash ?? null,
  }
}
