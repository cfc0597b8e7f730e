import type { Server } from '@hapi/hapi'
import type { ApiContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { routesOf } from '../serve-endpoint.ts'
import { serveAssets } from './assets.ts'
import { listChangelogPage } from './changelog/list-changelog.ts'
import { jobsEvents, listJobsPage } from './jobs/list-jobs.ts'
import { jobEvents, showJobPage } from './jobs/show-job.ts'
import { listKeysPage } from './organization/list-keys.ts'
import { showPolicyPage } from './organization/show-policy.ts'
import { showUsagePage } from './organization/show-usage.ts'
import type { Page } from './page.ts'
import { signInPage } from './sign-in.ts'
import { listTracesPage } from './traces/list-traces.ts'
import { showTracePage } from './traces/show-trace.ts'
import { listDeliveriesPage } from './webhooks/list-deliveries.ts'
import { deliveryEvents, showDeliveryPage } from './webhooks/show-delivery.ts'

/** Every page, in the order of the menu. */
export const pages: readonly Page[] = [
  listTracesPage,
  showTracePage,
  listJobsPage,
  showJobPage,
  listDeliveriesPage,
  showDeliveryPage,
  showUsagePage,
  listKeysPage,
  showPolicyPage,
  listChangelogPage,
]

/** The events of the panels that change while they are looked at. */
const events: readonly Endpoint[] = [jobsEvents, jobEvents, deliveryEvents]

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
    [signInPage, ...pages, ...events].flatMap((operation) => routesOf(operation, context)),
  )
}
