import { randomUUIDv7 } from 'node:crypto'
import { analyzeCompatibility } from '../../jobs/analyze-compatibility.ts'
import { insertReport } from '../../sql/compat-reports.ts'
import type { Transaction } from '../../sql/db.ts'
import type { ManifestRow } from '../../sql/manifests.ts'
import type { ApiContext } from '../context.ts'
import type { Principal } from '../principal.ts'
import { submitJob } from '../submit.ts'

/** Writes a report and the job that fills it. Both manifests are of one agent. */
export async function startAnalysis(
  context: ApiContext,
  principal: Principal,
  before: ManifestRow,
  after: ManifestRow,
  windowDays: number,
) {
  const id = randomUUIDv7()
  const job_id = await context.queue.transaction(context.sql, async (tx: Transaction) => {
    const submission = {
      projectId: after.project_id,
      resultRef: `/manifests/${after.id}/compatibility/${id}`,
    }
    const payload = { report_id: id }
    const job = await submitJob(context, tx, principal, analyzeCompatibility, payload, submission)
    const report = {
      id,
      project_id: after.project_id,
      agent_name: after.agent_name,
      old_manifest_id: before.id,
      new_manifest_id: after.id,
      job_id: job,
      trace_window_days: windowDays,
    }
    await insertReport(tx, principal.orgId, report, context.now())
    return job
  })
  return { id, job_id }
}
