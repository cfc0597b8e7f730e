import { activateDraft } from '../jobs/activate-draft.ts'
import { aggregateScores } from '../jobs/aggregate-scores.ts'
import { analyzeCompatibility } from '../jobs/analyze-compatibility.ts'
import { announceSafety } from '../jobs/announce-safety.ts'
import { applyRepair } from '../jobs/apply-repair.ts'
import { bisectRegression } from '../jobs/bisect-regression.ts'
import { buildDataset } from '../jobs/build-dataset.ts'
import { checkRegression } from '../jobs/check-regression.ts'
import { decideTraces } from '../jobs/decide-traces.ts'
import { deleteExpired } from '../jobs/delete-expired.ts'
import { deleteOrganization } from '../jobs/delete-organization.ts'
import { deleteTraces } from '../jobs/delete-traces.ts'
import { deliverWebhook } from '../jobs/deliver-webhook.ts'
import { detectViolations } from '../jobs/detect-violations.ts'
import { dispatchReplay } from '../jobs/dispatch-replay.ts'
import { importTraces } from '../jobs/import-traces.ts'
import { judgeTraces } from '../jobs/judge-traces.ts'
import { linkTraces } from '../jobs/link-traces.ts'
import { prepareReplay } from '../jobs/prepare-replay.ts'
import { previewRepair } from '../jobs/preview-repair.ts'
import { pullTraces } from '../jobs/pull-traces.ts'
import { pushDataset } from '../jobs/push-dataset.ts'
import { reconcileJobs } from '../jobs/reconcile-jobs.ts'
import { restoreBackup } from '../jobs/restore-backup.ts'
import { retargetVerdicts } from '../jobs/retarget-verdicts.ts'
import { rewriteTraces } from '../jobs/rewrite-traces.ts'
import { scanSkill } from '../jobs/scan-skill.ts'
import { scoreSkill } from '../jobs/score-skill.ts'
import { sendAlertMail } from '../jobs/send-alert-mail.ts'
import { settleLostDeliveries } from '../jobs/settle-lost-deliveries.ts'
import { settleTraces } from '../jobs/settle-traces.ts'
import { sweepRegressions } from '../jobs/sweep-regressions.ts'
import { sweepSkills } from '../jobs/sweep-skills.ts'
import { sweepStorage } from '../jobs/sweep-storage.ts'
import type { Job } from '../jobs/job.ts'
import type { AnyHandler } from './runtime/handler.ts'
import type { PoolName } from './pool-names.ts'

export interface Pool {
  /** Jobs that run at once in one process, each queue by itself. */
  readonly concurrency: number
  readonly jobs: readonly Job[]
  /** Loads their handlers, in the same order. A process does so for its own pools alone, which saves memory. */
  load(): Promise<{ readonly handlers: readonly AnyHandler[] }>
  /** Its jobs cannot be done while the storage is away. Default false. */
  readonly needsStorage?: boolean
}

/** Which pool works off which jobs. */
export const pools: Readonly<Record<string, Pool>> = {
  import: {
    concurrency: 2,
    jobs: [importTraces, pullTraces, restoreBackup],
    load: () => import('./import/index.ts'),
    needsStorage: true,
  },
  evals: {
    concurrency: 4,
    jobs: [settleTraces, judgeTraces, decideTraces, aggregateScores, detectViolations],
    load: () => import('./evals/index.ts'),
  },
  regression: {
    concurrency: 2,
    jobs: [
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
    load: () => import('./regression/index.ts'),
  },
  // Two, so that a build of minutes does not keep every other organization waiting.
  datasets: {
    concurrency: 2,
    jobs: [buildDataset, pushDataset],
    load: () => import('./datasets/index.ts'),
    needsStorage: true,
  },
  replay: {
    concurrency: 4,
    jobs: [prepareReplay, dispatchReplay],
    load: () => import('./replay/index.ts'),
  },
  skills: {
    concurrency: 2,
    jobs: [scanSkill, announceSafety, scoreSkill, sweepSkills],
    load: () => import('./skills/index.ts'),
  },
  webhooks: {
    concurrency: 20,
    jobs: [deliverWebhook, sendAlertMail],
    load: () => import('./webhooks/index.ts'),
  },
  /** Its processes supervise the queue: they rescue lost claims and delete what is old. */
  maintenance: {
    concurrency: 1,
    jobs: [
      reconcileJobs,
      settleLostDeliveries,
      deleteExpired,
      sweepStorage,
      rewriteTraces,
      deleteTraces,
      deleteOrganization,
    ],
    load: () => import('./maintenance/index.ts'),
  },
} satisfies Record<PoolName, Pool>
