import type { Server } from '@hapi/hapi'
import type { ApiContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { routesOf } from '../serve-endpoint.ts'
import { serveAssets } from './assets.ts'
import { listChecksPage } from './checks/list-checks.ts'
import { checkEvents, showCheckPage } from './checks/show-check.ts'
import type { Page } from './page.ts'
import { showRegressionsPage } from './regressions/show-regressions.ts'
import { signInPage } from './sign-in.ts'
import { listTracesPage } from './traces/list-traces.ts'
import { showTracePage } from './traces/show-trace.ts'

/** Every page, in the order of the menu. */
export const pages: readonly Page[] = [
  listTracesPage,
  showTracePage,
  showRegressionsPage,
  listChecksPage,
  showCheckPage,
]

/** The events of the panels that change while they are looked at. */
const events: readonly Endpoint[] = [checkEvents]

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
