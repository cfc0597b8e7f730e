import { aggregateScoresHandler } from './evals/aggregate-scores.ts'
import { decideTracesHandler } from './evals/decide-traces.ts'
import { detectViolationsHandler } from './evals/detect-violations.ts'
import { judgeTracesHandler } from './evals/judge-traces.ts'
import { settleTracesHandler } from './evals/settle-traces.ts'
import { buildDatasetHandler } from './datasets/build-dataset.ts'
import { pushDatasetHandler } from './datasets/hub/push-dataset.ts'
import type { AnyHandler } from './runtime/handler.ts'
import { importTracesHandler } from './import/import-traces.ts'
import { pullTracesHandler } from './import/pull-traces.ts'
import { restoreBackupHandler } from './import/backup/restore-backup.ts'
import { deleteExpiredHandler } from './maintenance/delete-expired.ts'
import { deleteOrganizationHandler } from './maintenance/delete-organization.ts'
import { deleteTracesHandler } from './maintenance/delete-traces.ts'
import { reconcileJobsHandler } from './maintenance/reconcile-jobs.ts'
import { settleLostDeliveriesHandler } from './maintenance/settle-lost-deliveries.ts'
import { rewriteTracesHandler } from './maintenance/rewrite-traces.ts'
import { sweepStorageHandler } from './maintenance/sweep-storage.ts'
import type { PoolName } from './pool-names.ts'
import { activateDraftHandler } from './regression/activate-draft.ts'
import { analyzeCompatibilityHandler } from './regression/analyze-compatibility.ts'
import { applyRepairHandler } from './regression/apply-repair.ts'
import { bisectRegressionHandler } from './regression/bisect-regression.ts'
import { checkRegressionHandler } from './regression/check-regression.ts'
import { linkTracesHandler } from './regression/link-traces.ts'
import { previewRepairHandler } from './regression/preview-repair.ts'
import { retargetVerdictsHandler } from './regression/retarget-verdicts.ts'
import { sweepRegressionsHandler } from './regression/sweep-regressions.ts'
import { dispatchReplayHandler } from './replay/dispatch-replay.ts'
import { prepareReplayHandler } from './replay/prepare-replay.ts'
import { announceSafetyHandler } from './skills/announce-safety.ts'
import { scanSkillHandler } from './skills/scan-skill.ts'
import { scoreSkillHandler } from './skills/score-skill.ts'
import { sweepSkillsHandler } from './skills/sweep-skills.ts'
import { deliverWebhookHandler } from './webhooks/deliver-webhook.ts'
import { sendAlertMailHandler } from './webhooks/send-alert-mail.ts'

export interface Pool {
  /** Jobs that run at once in one process, each queue by itself. */
  readonly concurrency: number
  readonly handlers: readonly AnyHandler[]
  /** Its jobs cannot be done while the storage is away. Default false. */
  readonly needsStorage?: boolean
}

/** Which pool works off which queues. */
export const pools: Readonly<Record<string, Pool>> = {
  import: {
    concurrency: 2,
    handlers: [importTracesHandler, pullTracesHandler, restoreBackupHandler],
    needsStorage: true,
  },
  evals: {
    concurrency: 4,
    handlers: [
      settleTracesHandler,
      judgeTracesHandler,
      decideTracesHandler,
      aggregateScoresHandler,
      detectViolationsHandler,
    ],
  },
  regression: {
    concurrency: 2,
    handlers: [
      analyzeCompatibilityHandler,
      retargetVerdictsHandler,
      previewRepairHandler,
      applyRepairHandler,
      linkTracesHandler,
      activateDraftHandler,
      checkRegressionHandler,
      bisectRegressionHandler,
      sweepRegressionsHandler,
    ],
  },
  // Two, so that a build of minutes does not keep every other organization waiting.
  datasets: {
    concurrency: 2,
    handlers: [buildDatasetHandler, pushDatasetHandler],
    needsStorage: true,
  },
  replay: { concurrency: 4, handlers: [prepareReplayHandler, dispatchReplayHandler] },
  skills: {
    concurrency: 2,
    handlers: [scanSkillHandler, announceSafetyHandler, scoreSkillHandler, sweepSkillsHandler],
  },
  webhooks: { concurrency: 20, handlers: [deliverWebhookHandler, sendAlertMailHandler] },
  /** Its processes supervise the queue: they rescue lost claims and delete what is old. */
  maintenance: {
    concurrency: 1,
    handlers: [
      reconcileJobsHandler,
      settleLostDeliveriesHandler,
      deleteExpiredHandler,
      sweepStorageHandler,
      rewriteTracesHandler,
      deleteTracesHandler,
      deleteOrganizationHandler,
    ],
  },
} satisfies Record<PoolName, Pool>
