import type { Server } from '@hapi/hapi'
import type { ApiContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { routesOf } from '../serve-endpoint.ts'
import { listAgentsPage } from './agents/list-agents.ts'
import { showAgentPage } from './agents/show-agent.ts'
import { serveAssets } from './assets.ts'
import { listChangelogPage } from './changelog/list-changelog.ts'
import { listChecksPage } from './checks/list-checks.ts'
import { checkEvents, showCheckPage } from './checks/show-check.ts'
import { listDatasetsPage } from './datasets/list-datasets.ts'
import { datasetEvents, showDatasetPage } from './datasets/show-dataset.ts'
import { showVersionPage, versionEvents } from './datasets/show-version.ts'
import { listImportsPage } from './imports/list-imports.ts'
import { importEvents, showImportPage } from './imports/show-import.ts'
import { jobsEvents, listJobsPage } from './jobs/list-jobs.ts'
import { jobEvents, showJobPage } from './jobs/show-job.ts'
import { listManifestsPage } from './manifests/list-manifests.ts'
import { showManifestPage } from './manifests/show-manifest.ts'
import { listKeysPage } from './organization/list-keys.ts'
import { showPolicyPage } from './organization/show-policy.ts'
import { showRedactionPage } from './organization/show-redaction.ts'
import { showUsagePage } from './organization/show-usage.ts'
import { page } from './page.ts'
import type { Page } from './page.ts'
import { showRegressionsPage } from './regressions/show-regressions.ts'
import { listReplaysPage } from './replay/list-replays.ts'
import { replayEvents, showReplayPage } from './replay/show-batch.ts'
import { repairEvents, showRepairPage } from './replay/show-repair.ts'
import { reviewPage } from './review/review.ts'
import { signInLink } from './sign-in-link.ts'
import { signInPage } from './sign-in.ts'
import { listRegistryPage } from './skills/list-registry.ts'
import { listSkillsPage } from './skills/list-skills.ts'
import { showPublicSkillPage } from './skills/show-public-skill.ts'
import { showSkillPage } from './skills/show-skill.ts'
import { listTracesPage } from './traces/list-traces.ts'
import { showTracePage } from './traces/show-trace.ts'
import { listDeliveriesPage } from './webhooks/list-deliveries.ts'
import { deliveryEvents, showDeliveryPage } from './webhooks/show-delivery.ts'

/** Every page, in the order of the menu. */
export const pages: readonly Page[] = [
  listTracesPage,
  showTracePage,
  reviewPage,
  listAgentsPage,
  showAgentPage,
  listManifestsPage,
  showManifestPage,
  showRegressionsPage,
  listChecksPage,
  showCheckPage,
  listSkillsPage,
  showSkillPage,
  listRegistryPage,
  showPublicSkillPage,
  listDatasetsPage,
  showDatasetPage,
  showVersionPage,
  listReplaysPage,
  showReplayPage,
  showRepairPage,
  listImportsPage,
  showImportPage,
  listJobsPage,
  showJobPage,
  listDeliveriesPage,
  showDeliveryPage,
  listKeysPage,
  showPolicyPage,
  showRedactionPage,
  showUsagePage,
  listChangelogPage,
]

/** The events of the panels that change while they are looked at. */
const events: readonly Endpoint[] = [
  checkEvents,
  datasetEvents,
  versionEvents,
  replayEvents,
  repairEvents,
  importEvents,
  jobsEvents,
  jobEvents,
  deliveryEvents,
]

/** Any other path below `/console`. */
const unknownPage = page('/{path*}', {
  show: () => Promise.reject(notFound('Page')),
})

/** The pages that people look at, made of the operations that clients call. */
export function serveConsole(server: Server, context: ApiContext) {
  serveAssets(server)
  server.route({
    method: 'GET',
    path: '/console',
    options: { auth: false, app: { access: 'open' } },
    handler: (_, h) => h.redirect('/console/traces'),
  })
  server.route(
    [signInPage, signInLink, ...pages, ...events, unknownPage].flatMap((operation) =>
      routesOf(operation, context),
    ),
  )
}
