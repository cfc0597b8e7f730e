import { isBoom } from '@hapi/boom'
import { server as hapiServer } from '@hapi/hapi'
import type { Request, RouteOptions, Server } from '@hapi/hapi'
import { randomUUIDv7 } from 'node:crypto'
import { ANONYMOUS_RATE } from '../jobs/rules/org/plan.ts'
import type { Rate } from '../jobs/rules/org/plan.ts'
import { logRequests } from './access-log.ts'
import { registerAuth } from './auth.ts'
import { openBodyRoom } from './body-room.ts'
import type { RoomLimits } from './body-room.ts'
import { readRanges } from './client-address.ts'
import { limitConcurrency } from './concurrency.ts'
import { DEFAULT_CONNECTIONS, limitConnections } from './connections.ts'
import type { ConnectionLimits } from './connections.ts'
import { serveConsole } from './console/console.ts'
import type { ApiContext } from './context.ts'
import { serveDocumentation } from './documentation.ts'
import { fullPath, pathsOf } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { answerError, notFound } from './errors.ts'
import { headerOf } from './header.ts'
import { answerUnparsable, createListener, PATIENCE, watchUpload } from './listener.ts'
import type { PatienceLimits } from './listener.ts'
import { openAddressLimiter, rateHeaders } from './rate-limit.ts'
import { traceRequests } from './request-spans.ts'
import { takeBody } from './read-body.ts'
import { operations as allOperations } from './routes.ts'
import { routesOf, UNREAD } from './serve-endpoint.ts'

export interface ServerOptions {
  readonly host?: string
  readonly port?: number
  /** Rate of requests without a good credential, for each client address; default ANONYMOUS_RATE. */
  readonly anonymousRate?: Rate
  /**
   * Addresses and ranges, separated by commas, of the proxies whose `X-Forwarded-For` is believed;
   * default none.
   */
  readonly trustedProxies?: string
  /** Default DEFAULT_CONNECTIONS. */
  readonly connections?: ConnectionLimits
  /** Default PATIENCE. */
  readonly patience?: PatienceLimits
  /** How much memory the bodies of requests may take at once; default ROOM. */
  readonly bodyRoom?: RoomLimits
  readonly operations?: readonly Endpoint[]
}

/** Composes the API. It listens when the caller starts it; tests inject instead. */
export async function createApi(context: ApiContext, options: ServerOptions = {}): Promise<Server> {
  const patience = options.patience ?? PATIENCE
  const trustedProxies = readRanges(options.trustedProxies ?? '')
  const listener = createListener(patience)
  const limits = options.connections ?? DEFAULT_CONNECTIONS
  const connections = limitConnections(listener, limits, trustedProxies)
  const server = hapiServer({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    listener,
    info: { remote: true },
    router: { stripTrailingSlash: true },
    // Streamed answers may be many gigabytes of repeating text.
    mime: {
      override: {
        'application/x-ndjson': { compressible: true },
        // Events are sent one by one; what compresses them holds them back.
        'text/event-stream': { compressible: false },
      },
    },
    // auth.ts reads the session's cookie; cookies of others are ignored, well-formed or not.
    routes: {
      security: { hsts: false },
      cors: false,
      state: { parse: false, failAction: 'ignore' },
      // The operations answer ranges: hapi would read everything before the range.
      response: { ranges: false },
    },
  })
  const room = openBodyRoom(options.bodyRoom)
  const bodies = { timeoutMs: patience.bodyMs, room }
  server.events.on('response', room.leave)
  Object.assign(server.app, {
    bodies,
    connections,
    addresses: openAddressLimiter(options.anonymousRate ?? ANONYMOUS_RATE),
    trustedProxies,
  })
  server.ext('onRequest', (request, h) => {
    identify(request)
    connections.check(request.raw.req)
    return h.continue
  })
  logRequests(server, context.log)
  traceRequests(server)
  answerUnparsable(listener)
  limitConcurrency(server)
  server.ext('onPostAuth', async (request, h) => {
    const operation = request.route.settings.app?.operation
    if (!operation || operation.method === 'GET') return h.continue
    if (operation.body && 'stream' in operation.body) watchUpload(request, patience)
    await takeBody(request, operation.body, bodies)
    return h.continue
  })
  server.ext('onPreResponse', (request, h) => {
    const { response } = request
    const answer = isBoom(response) ? answerError(response, request, h, context.log) : response
    const headers = { 'X-Request-ID': request.info.id, ...rateHeaders(request) }
    for (const [name, value] of Object.entries(headers)) answer.header(name, value)
    // The rest of a body that nobody reads is not waited for.
    if (request.raw.req.complete === false) answer.header('Connection', 'close')
    return answer === response ? h.continue : answer
  })
  registerAuth(server, context)
  const operations = options.operations ?? allOperations
  serveDocumentation(server, operations)
  server.route(operations.flatMap((operation) => routesOf(operation, context)))
  serveConsole(server, context)
  refuseOtherMethods(server, operations)
  refuseOtherPaths(server)
  await server.initialize()
  return server
}

/** Echoes a well-formed `X-Request-ID`, else makes one. Jobs keep it, so it must not be an API key. */
function identify(request: Request) {
  const given = headerOf(request, 'x-request-id')
  request.info.id = given && /^(?!.*_sk_)[\w-]{1,64}$/.test(given) ? given : randomUUIDv7()
}

/** 405 with `Allow` for a known path and another method, instead of hapi's 404. */
function refuseOtherMethods(server: Server, operations: readonly Endpoint[]) {
  const allowed = new Map<string, Set<string>>()
  for (const operation of operations) {
    for (const path of pathsOf(operation).map((each) => fullPath(each.path))) {
      allowed.set(path, (allowed.get(path) ?? new Set()).add(operation.method))
    }
  }
  for (const [path, methods] of allowed) {
    server.route({
      method: '*',
      path,
      options: PUBLIC,
      handler: (request, h) =>
        h
          .response({
            detail: `${request.method.toUpperCase()} is not a method of this path`,
            code: 'method_not_allowed',
            request_id: request.info.id,
          })
          .code(405)
          .header('Allow', [...methods].sort().join(', ')),
    })
  }
}

/** 404 for other paths. It counts against the rate limit, which hapi's own does not. */
function refuseOtherPaths(server: Server) {
  server.route({
    method: '*',
    path: '/{path*}',
    options: PUBLIC,
    handler: () => {
      throw notFound('Path')
    },
  })
}

/** Options of the routes that are not operations. */
const PUBLIC: RouteOptions = {
  auth: 'key',
  app: { access: 'public' },
  payload: UNREAD,
}
