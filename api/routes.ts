import { listAgentsOperation } from './agents/list-agents.ts'
import { listViolationsOperation } from './agents/list-violations.ts'
import { showAgentTopology } from './agents/show-agent-topology.ts'
import { showAgentOperation } from './agents/show-agent.ts'
import { showCompatSummary } from './agents/show-compat-summary.ts'
import { showImpactReport } from './agents/show-impact-report.ts'
import { showTopology } from './agents/show-topology.ts'
import { createKey } from './api-keys/create-key.ts'
import { listKeysOperation } from './api-keys/list-keys.ts'
import { revokeKeyOperation } from './api-keys/revoke-key.ts'
import { endSession } from './auth/end-session.ts'
import { openSession } from './auth/open-session.ts'
import { showMe } from './auth/show-me.ts'
import { verifyKey } from './auth/verify-key.ts'
import { listChangelogOperation } from './changelog/list-changelog.ts'
import { buildVersion } from './datasets/build-version.ts'
import { cancelBuild } from './datasets/cancel-build.ts'
import { createDataset } from './datasets/create-dataset.ts'
import { deleteDatasetOperation } from './datasets/delete-dataset.ts'
import { exportVersion } from './datasets/export-version.ts'
import { listDatasetsOperation } from './datasets/list-datasets.ts'
import { listRowsOperation } from './datasets/list-rows.ts'
import { listVersionsOperation } from './datasets/list-versions.ts'
import { showDatasetOperation } from './datasets/show-dataset.ts'
import { showVersionOperation } from './datasets/show-version.ts'
import { updateDatasetOperation } from './datasets/update-dataset.ts'
import type { Endpoint } from './endpoint.ts'
import { livez, readyz, version } from './health/health.ts'
import { cancelImport } from './import/cancel-import.ts'
import { importJsonl } from './import/import-jsonl.ts'
import { importTracesOperation } from './import/import-traces.ts'
import { listImportErrorsOperation } from './import/list-import-errors.ts'
import { listImportsOperation } from './import/list-imports.ts'
import { showImportOperation } from './import/show-import.ts'
import { cancelJobOperation } from './jobs/cancel-job.ts'
import { listJobsOperation } from './jobs/list-jobs.ts'
import { retryJobOperation } from './jobs/retry-job.ts'
import { showJobOperation } from './jobs/show-job.ts'
import { activateManifestOperation } from './manifests/activate-manifest.ts'
import { diffManifestsOperation } from './manifests/diff-manifests.ts'
import { listEpisodesOperation } from './manifests/list-episodes.ts'
import { listManifestsOperation } from './manifests/list-manifests.ts'
import { listReportsOperation } from './manifests/list-reports.ts'
import { registerManifest } from './manifests/register-manifest.ts'
import { runCompatibility } from './manifests/run-compatibility.ts'
import { showManifestOperation } from './manifests/show-manifest.ts'
import { showReportOperation } from './manifests/show-report.ts'
import { createProject } from './org/create-project.ts'
import { createWorkspace } from './org/create-workspace.ts'
import { listDeliveriesOperation } from './org/list-deliveries.ts'
import { listProjectsOperation } from './org/list-projects.ts'
import { listWorkspacesOperation } from './org/list-workspaces.ts'
import { redeliverOperation } from './org/redeliver.ts'
import { showBilling } from './org/show-billing.ts'
import { showDeliveryOperation } from './org/show-delivery.ts'
import { showNotificationsOperation } from './org/show-notifications.ts'
import { showUsage } from './org/show-usage.ts'
import { testNotification } from './org/test-notification.ts'
import { updateNotifications } from './org/update-notifications.ts'
import { receivePayment } from './webhooks/receive-payment.ts'
import { decideBatch } from './decisions/decide-batch.ts'
import { decideOperation } from './decisions/decide.ts'
import { listPolicyVersionsOperation } from './decisions/list-policy-versions.ts'
import { setPolicy } from './decisions/set-policy.ts'
import { showDecisionOperation } from './decisions/show-decision.ts'
import { showPolicyOperation } from './decisions/show-policy.ts'
import { aggregateScoresOperation } from './eval-scores/aggregate-scores.ts'
import { listTraceScores } from './eval-scores/list-trace-scores.ts'
import { pushScores } from './eval-scores/push-scores.ts'
import { pushTraceScores } from './eval-scores/push-trace-scores.ts'
import { showBreakdown } from './eval-scores/show-breakdown.ts'
import { showEvalStats } from './eval-scores/show-eval-stats.ts'
import { createEvaluator } from './evaluators/create-evaluator.ts'
import { deleteEvaluatorOperation } from './evaluators/delete-evaluator.ts'
import { evaluateTrace } from './evaluators/evaluate-trace.ts'
import { listEvaluatorsOperation } from './evaluators/list-evaluators.ts'
import { listEvaluatorTemplates } from './evaluators/list-templates.ts'
import { registerEvaluators } from './evaluators/register-evaluators.ts'
import { decideCheck } from './regression/decide-check.ts'
import { listChecksOperation } from './regression/list-checks.ts'
import { replayCalls } from './regression/replay-calls.ts'
import { resolveFindingOperation } from './regression/resolve-finding.ts'
import { runBisect } from './regression/run-bisect.ts'
import { runCheck } from './regression/run-check.ts'
import { showBisectOperation } from './regression/show-bisect.ts'
import { showCheckOperation } from './regression/show-check.ts'
import { annotateTrace } from './traces/annotate-trace.ts'
import { createTrace } from './traces/create-trace.ts'
import { createTraces } from './traces/create-traces.ts'
import { deleteTraceOperation } from './traces/delete-trace.ts'
import { listSpans } from './traces/list-spans.ts'
import { listTracesOperation } from './traces/list-traces.ts'
import { showSkillRaterConfig } from './traces/show-skill-rater-config.ts'
import { showTraceStats } from './traces/show-stats.ts'
import { showTraceOperation } from './traces/show-trace.ts'

/** The whole interface as one list. */
export const operations: readonly Endpoint[] = [
  createKey,
  listKeysOperation,
  revokeKeyOperation,

  openSession,
  endSession,
  showMe,
  verifyKey,

  listWorkspacesOperation,
  createWorkspace,
  listProjectsOperation,
  createProject,

  createTrace,
  createTraces,
  listTracesOperation,
  showTraceStats,
  showSkillRaterConfig,
  showTraceOperation,
  listSpans,
  annotateTrace,
  deleteTraceOperation,

  pushTraceScores,
  pushScores,
  listTraceScores,
  showBreakdown,
  aggregateScoresOperation,
  showEvalStats,

  decideOperation,
  showDecisionOperation,
  decideBatch,
  showPolicyOperation,
  setPolicy,
  listPolicyVersionsOperation,

  listEvaluatorsOperation,
  listEvaluatorTemplates,
  createEvaluator,
  deleteEvaluatorOperation,
  registerEvaluators,
  evaluateTrace,

  createDataset,
  listDatasetsOperation,
  showDatasetOperation,
  updateDatasetOperation,
  deleteDatasetOperation,
  buildVersion,
  listVersionsOperation,
  showVersionOperation,
  exportVersion,
  listRowsOperation,
  cancelBuild,

  importJsonl,
  importTracesOperation,
  listImportsOperation,
  showImportOperation,
  listImportErrorsOperation,
  cancelImport,

  registerManifest,
  listManifestsOperation,
  showManifestOperation,
  diffManifestsOperation,
  activateManifestOperation,
  runCompatibility,
  listReportsOperation,
  showReportOperation,
  listEpisodesOperation,

  listAgentsOperation,
  showTopology,
  showAgentOperation,
  showAgentTopology,
  showImpactReport,
  showCompatSummary,
  listViolationsOperation,

  runCheck,
  listChecksOperation,
  showCheckOperation,
  decideCheck,
  replayCalls,
  runBisect,
  showBisectOperation,
  resolveFindingOperation,

  listChangelogOperation,

  listJobsOperation,
  showJobOperation,
  cancelJobOperation,
  retryJobOperation,

  showNotificationsOperation,
  updateNotifications,
  testNotification,
  listDeliveriesOperation,
  showDeliveryOperation,
  redeliverOperation,
  receivePayment,
  showBilling,
  showUsage,

  livez,
  readyz,
  version,
]
