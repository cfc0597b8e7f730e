import { server as hapiServer } from '@hapi/hapi'
import type { Request, ResponseToolkit, RouteOptions, Server } from '@hapi/hapi'
import { randomUUIDv7 } from 'node:crypto'
import { ANONYMOUS_RATE } from '../jobs/rules/plan.ts'
import type { Rate } from '../jobs/rules/plan.ts'
import { registerAuth } from './auth.ts'
import { readRanges } from './client-address.ts'
import type { ApiContext } from './context.ts'
import { serveDocumentation } from './documentation.ts'
import { routesOf, UNREAD } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { answerError, notFound } from './errors.ts'
import { answerUnparsable, createListener, PATIENCE, watchUpload } from './listener.ts'
import type { PatienceLimits } from './listener.ts'
import { openAddressLimiter, openRefusals, rateHeaders } from './rate-limit.ts'
import { takeBody } from './read-body.ts'
import { operations as allOperations } from './routes.ts'

export interface ServerOptions {
  readonly host?: string
  readonly port?: number
  /** Requests without a good credential that a client address has; default ANONYMOUS_RATE. */
  readonly anonymousRate?: Rate
  /**
   * Addresses and ranges, separated by commas, of the proxies whose `X-Forwarded-For` is believed;
   * default none.
   */
  readonly trustedProxies?: string
  /** Default PATIENCE. */
  readonly patience?: PatienceLimits
  readonly operations?: readonly Endpoint[]
}

/** Composes the API. It listens when the caller starts it; tests inject instead. */
export async function createApi(context: ApiContext, options: ServerOptions = {}): Promise<Server> {
  const patience = options.patience ?? PATIENCE
  const listener = createListener(patience)
  const server = hapiServer({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    listener,
    info: { remote: true },
    router: { stripTrailingSlash: true },
    // The one cookie is read by the door, and those of others are none of our business.
    routes: {
      security: { hsts: false },
      cors: false,
      state: { parse: false, failAction: 'ignore' },
      // Answered by the operations: hapi would read everything before a range.
      response: { ranges: false },
    },
  })
  server.ext('onRequest', identify)
  answerUnparsable(listener)
  server.ext('onPostAuth', async (request, h) => {
    const { operation } = request.route.settings.app as { operation?: Partial<Endpoint> }
    if (!operation?.method || operation.method === 'GET') return h.continue
    if (operation.body && 'stream' in operation.body) watchUpload(request, patience)
    await takeBody(request, operation.body, patience.bodyMs)
    return h.continue
  })
  server.ext('onPreResponse', (request, h) => {
    const answer = answerError(request, h, context.log)
    setHeaders(answer === h.continue ? request.response : answer, {
      'X-Request-ID': request.info.id,
      ...rateHeaders(request),
      // What is left of a body nobody wants is not waited for.
      ...(request.raw.req.complete === false && { Connection: 'close' }),
    })
    return answer
  })
  registerAuth(server, context, {
    addresses: openAddressLimiter(options.anonymousRate ?? ANONYMOUS_RATE),
    refusals: openRefusals(),
    trustedProxies: readRanges(options.trustedProxies ?? ''),
  })
  const operations = options.operations ?? allOperations
  await serveDocumentation(server, operations)
  server.route(operations.flatMap((operation) => routesOf(operation, context)))
  refuseOtherMethods(server, operations)
  refuseOtherPaths(server)
  await server.initialize()
  return server
}

/** Echoes a well-formed `X-Request-ID`, else makes one. */
function identify(request: Request, h: ResponseToolkit) {
  const given = request.headers['x-request-id'] as string | undefined
  request.info.id = given && /^[\w-]{1,64}$/.test(given) ? given : randomUUIDv7()
  return h.continue
}

/** 405 with `Allow` for a known path and another method, instead of hapi's 404. */
function refuseOtherMethods(server: Server, operations: readonly Endpoint[]) {
  const allowed = new Map<string, Set<string>>()
  for (const { method, path } of operations.flatMap((operation) =>
    routesOf(operation, {} as never),
  )) {
    allowed.set(path, (allowed.get(path) ?? new Set()).add(String(method)))
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

/** 404 inside the rate limit, which hapi's own is not. */
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

function setHeaders(target: unknown, headers: Record<string, string>) {
  if (typeof target !== 'object' || target === null || !('header' in target)) return
  const response = target as { header(name: string, value: string): void }
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
}

/** Options of routes that are no operations. */
const PUBLIC: RouteOptions = {
  auth: 'key',
  app: { operation: { access: 'public' } } as never,
  payload: UNREAD,
}
