import type { CheckFindings } from '../../jobs/rules/regression/check-findings.ts'
import { deleteJob, findJob } from '../../sql/jobs/jobs.ts'
import type { JobRow } from '../../sql/jobs/jobs.ts'
import { Answer } from '../endpoint.ts'
import { answerLongWork } from '../wait.ts'
import type { CheckCall, Compared } from './check-request.ts'
import { viewCheck } from './check.ts'
import { requireReport } from './require-report.ts'
import { submitOnce } from './submit-once.ts'

/**
 * Answers a check of which nothing is kept. The job is deleted with the complete answer; after a 202 or a
 * 503 it stays until it expires, because the client has to come back for it, or looks up why it failed.
 */
export async function runDry(call: CheckCall, compared: Compared): Promise<Answer> {
  const { context, principal } = call
  const submitted = await submitOnce(call, compared)
  let job: JobRow | undefined
  const answer = await answerLongWork(call, submitted.job_id, 200, async () => {
    job = await findJob(context.sql, principal.orgId, submitted.job_id)
    return viewCheck({ ...unkept(call, compared), ...outcomeOf(job) })
  })
  // The same request of another client was answered first, and took the result along.
  if (!job) return runDry(call, compared)
  const { status, body, headers } = await requireReport(call, submitted, answer)
  if (status === 200) await deleteJob(context.sql, principal.orgId, submitted.job_id)
  return new Answer(status, status === 200 ? { ...body, job_id: null } : body, headers)
}

function outcomeOf(job: JobRow | undefined) {
  return {
    findings: (job?.result?.['findings'] ?? null) as CheckFindings | null,
    job_state: job?.state ?? null,
    job_error: job?.error ?? null,
    created_at: job?.created_at ?? new Date(0),
  }
}

function unkept({ body }: CheckCall, { candidate, baseline }: Compared) {
  return {
    id: null,
    project_id: candidate.project_id,
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
