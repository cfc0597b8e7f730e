import { randomUUIDv7 } from 'node:crypto'
import { analyzeCompatibility } from '../../jobs/analyze-compatibility.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { insertReport } from '../manifests/compat-reports.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { submitJob } from './submit-job.ts'
import type { Submission } from './submit-job.ts'

/** Two manifests of one agent, and the days of traces of the old one that are decided on again. */
export interface Analysis {
  readonly agent: AgentKey
  readonly oldId: string
  readonly newId: string
  readonly windowDays: number
}

/** When and on whose behalf something is done. */
export interface Occasion extends Pick<Submission, 'createdBy' | 'requestId'> {
  readonly now: Date
}

/** Writes a report and submits the job that fills it. */
export async function startAnalysis(
  tx: Transaction,
  queue: Queue,
  { agent: { orgId, projectId, agentName }, oldId, newId, windowDays }: Analysis,
  { now, ...author }: Occasion,
) {
  const id = randomUUIDv7()
  const resultRef = `/manifests/${newId}/compatibility/${id}`
  const submission = { orgId, projectId, resultRef, ...author }
  const job_id = await submitJob(tx, queue, analyzeCompatibility, { report_id: id }, submission)
  const report = {
    id,
    project_id: projectId,
    agent_name: agentName,
    old_manifest_id: oldId,
    new_manifest_id: newId,
    job_id,
    trace_window_days: windowDays,
  }
  await insertReport(tx, orgId, report, now)
  return { id, job_id }
}
