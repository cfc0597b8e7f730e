/**
 * Every job, in the order data flows through them.
 *
 * - A **job** is a unit of background work; its **queue** holds the jobs of one kind.
 * - A **pool** is the set of queues one worker process works off; its **slots** are how many at once.
 * - A **handler** does a job. One execution is a **run**; a worker that took a job holds its **claim**.
 * - An **attempt** numbers the claims of a job and fences the writes of those that were lost.
 * - A **checkpoint** says how far the work is committed; the next run goes on from it. A job declares its
 *   shape beside that of its payload.
 * - The **job resource** is the row of `jobs` a client polls; an internal job has none. One that no
 *   worker will settle is **orphaned**, and maintenance settles it.
 * - A run that has to wait for something ends, and the job goes on later (`continueAfter`).
 * - A **task** is no job of ours: a client's runner does it, under a **lease** and not under a claim.
 */
import { activateDraft } from './activate-draft.ts'
import { aggregateScores } from './aggregate-scores.ts'
import { analyzeCompatibility } from './analyze-compatibility.ts'
import { announceSafety } from './announce-safety.ts'
import { applyRepair } from './apply-repair.ts'
import { bisectRegression } from './bisect-regression.ts'
import { buildDataset } from './build-dataset.ts'
import { checkRegression } from './check-regression.ts'
import { decideTraces } from './decide-traces.ts'
import { deleteExpired } from './delete-expired.ts'
import { deleteOrganization } from './delete-organization.ts'
import { deleteTraces } from './delete-traces.ts'
import { deliverWebhook } from './deliver-webhook.ts'
import { detectViolations } from './detect-violations.ts'
import { dispatchReplay } from './dispatch-replay.ts'
import { importTraces } from './import-traces.ts'
import type { Job } from './job.ts'
import { judgeTraces } from './judge-traces.ts'
import { linkTraces } from './link-traces.ts'
import { prepareReplay } from './prepare-replay.ts'
import { previewRepair } from './preview-repair.ts'
import { pullTraces } from './pull-traces.ts'
import { pushDataset } from './push-dataset.ts'
import { reconcileJobs } from './reconcile-jobs.ts'
import { restoreBackup } from './restore-backup.ts'
import { retargetVerdicts } from './retarget-verdicts.ts'
import { rewriteTraces } from './rewrite-traces.ts'
import { scanSkill } from './scan-skill.ts'
import { scoreSkill } from './score-skill.ts'
import { sendAlertMail } from './send-alert-mail.ts'
import { settleLostDeliveries } from './settle-lost-deliveries.ts'
import { settleTraces } from './settle-traces.ts'
import { sweepRegressions } from './sweep-regressions.ts'
import { sweepSkills } from './sweep-skills.ts'
import { sweepStorage } from './sweep-storage.ts'

/** Each job, by the pool that does it (`workers/pools.ts`). */
export const jobsOfPools = {
  import: [importTraces, pullTraces, restoreBackup],
  evals: [settleTraces, judgeTraces, decideTraces, aggregateScores, detectViolations],
  regression: [
    analyzeCompatibility,
    retargetVerdicts,
    previewRepair,
    applyRepair,
    linkTraces,
    activateDraft,
    checkRegression,
    bisectRegression,
    sweepRegressions,
  ],
  datasets: [buildDataset, pushDataset],
  replay: [prepareReplay, dispatchReplay],
  skills: [scanSkill, announceSafety, scoreSkill, sweepSkills],
  webhooks: [deliverWebhook, sendAlertMail],
  maintenance: [
    reconcileJobs,
    settleLostDeliveries,
    deleteExpired,
    sweepStorage,
    rewriteTraces,
    deleteTraces,
    deleteOrganization,
  ],
} satisfies Record<string, readonly Job[]>

export const jobs: readonly Job[] = Object.values<readonly Job[]>(jobsOfPools).flat()
