import type { Request, ResponseToolkit, RouteOptions, ServerRoute } from '@hapi/hapi'
import type Joi from 'joi'
import { ownedBy } from '../sql/core/db.ts'
import { isObject } from '../jobs/rules/core/reader.ts'
import { workOn } from '../jobs/current-work.ts'
import { whileCounted } from './concurrency.ts'
import type { ApiContext, ApiPools } from './context.ts'
import { announceSuccessor } from './deprecated-path.ts'
import { authorize } from './auth.ts'
import { Answer, fullPath, pathsOf } from './endpoint.ts'
import type { Answered, BodyReading, Call, Endpoint } from './endpoint.ts'
import { ALL_FAULTS, faultsOf, validationError } from './errors.ts'
import type { FieldFault } from './errors.ts'
import { performOnce, readIdempotencyKey } from './idempotency.ts'
import type { Reply } from './idempotency.ts'
import type { Access, Principal } from './principal.ts'
import { chooseSource } from './read-replica.ts'
import { inSpanOf } from './request-spans.ts'

/** The hapi routes of an operation, one for each of its paths. */
export function routesOf(operation: Endpoint, context: ApiContext): ServerRoute[] {
  return pathsOf(operation).map(({ path, deprecatedSince }) => ({
    method: operation.method,
    path: fullPath(path),
    options: routeOptions(operation, context, deprecatedSince),
  }))
}

function routeOptions(
  operation: Endpoint,
  context: ApiContext,
  deprecatedSince: Date | undefined,
): RouteOptions {
  return {
    ...(deprecatedSince && {
      ext: { onPreResponse: { method: announceSuccessor(operation, deprecatedSince) } },
    }),
    app: { access: operation.access, operation },
    auth: operation.access === 'open' ? false : 'key',
    ...(operation.method !== 'GET' && { payload: UNREAD }),
    handler: (request, h) =>
      workOn({ request_id: request.info.id, org_id: request.app.org_id }, () =>
        inSpanOf(request, () =>
          whileCounted(request, () => handleRequest(operation, context, request, h)),
        ),
      ),
  }
}

/**
 * Performs an operation that reads, on behalf of who made another request: with its own access rule, checks
 * and connections, but without a token of its own.
 * @throws ApiError as the operation would answer
 */
export async function askOperation<A>(
  operation: Endpoint<A>,
  {
    context: shared,
    principal,
    request,
    h,
  }: Pick<NeverCall, 'context' | 'principal' | 'request' | 'h'>,
  { params = {}, query = {} }: { params?: object; query?: object } = {},
): Promise<Answered<A>> {
  if (operation.access !== 'open' && operation.access !== 'public') {
    authorize(principal, request, operation.access)
  }
  const faults: FieldFault[] = []
  const input = {
    params: check(faults, 'path', operation.params, params),
    query: check(faults, 'query', operation.query, query),
  }
  if (faults.length > 0) throw validationError(faults)
  const { pools } = await chooseSource(operation, shared, request, ownerOf(principal))
  const context = { ...shared, pools, sql: connectionsOf(operation, pools, principal) }
  const answer = await operation.handle({
    context,
    principal,
    ...input,
    body: undefined,
    request,
    h,
  } as NeverCall)
  return (answer instanceof Answer ? answer.body : answer) as Answered<A>
}

async function handleRequest(
  operation: Endpoint,
  shared: ApiContext,
  request: Request,
  h: ResponseToolkit,
) {
  const input = await readInput(operation, request, {
    now: shared.now(),
    contentForm: shared.contentForm,
  })
  const caller = request.auth.credentials?.user
  const principal = caller?.principal
  const source = await chooseSource(operation, shared, request, ownerOf(principal))
  const { pools } = source
  const context = { ...shared, pools, sql: connectionsOf(operation, pools, principal) }
  // The declaration of the operation ties the schemas checked above to what its handler takes.
  const perform = async (context: ApiContext, body: unknown) =>
    replyOf(await operation.handle({ context, principal, ...input, body, request, h } as NeverCall))
  const key = caller && readIdempotencyKey(request, operation)
  const reply = key
    ? await performOnce({ context, request, caller, operation }, key, (context, stream) =>
        perform(context, stream ?? input.body),
      )
    : await perform(context, input.body)
  const shown = operation.write ? written(operation.write, request, reply) : reply
  return respond(shown, { ...shown.headers, ...(await source.findHeaders()) }, h)
}

function connectionsOf(operation: Endpoint, pools: ApiPools, principal?: Principal) {
  return ownedBy(pools[poolOf(operation)], ownerOf(principal))
}

const ownerOf = (principal: Principal | undefined) => principal?.orgId ?? ANONYMOUS

function poolOf({ method, aggregates }: Endpoint): keyof ApiPools {
  if (method !== 'GET') return 'write'
  return aggregates ? 'aggregate' : 'read'
}

/** Checks path, query and body and throws one 422 with all their faults. */
async function readInput(
  { params, query, headers, body }: Endpoint,
  request: Request,
  reading: BodyReading,
) {
  const faults: FieldFault[] = []
  async function checkBody(): Promise<unknown> {
    if (!body) return undefined
    if ('stream' in body) return request.payload
    const value: unknown = request.payload ?? {}
    if (!('read' in body)) return check(faults, 'body', body, value)
    const result = await body.read(value, reading)
    if ('value' in result) return result.value
    addFaults(faults, result.faults)
    return undefined
  }
  check(faults, 'header', headers, request.headers)
  const input = {
    params: check(faults, 'path', params, request.params),
    query: check(faults, 'query', query, queryOf(request)),
    body: await checkBody(),
  }
  if (faults.length > 0) throw validationError(faults)
  return input
}

/**
 * The query of a request. A write names its project in its body or in its query, and here its handler finds it:
 * an empty name in the body leaves that of the query.
 */
function queryOf({ method, payload, query }: Request): object {
  const project = method !== 'get' && isObject(payload) && payload['project']
  if (project === '') return { project, ...query }
  return typeof project === 'string' ? { ...query, project } : query
}

/** Checks one part of a request. @returns the value with its defaults; its faults are added to `faults` */
function check(
  faults: FieldFault[],
  prefix: string,
  schema: Joi.Schema | undefined,
  value: unknown,
): unknown {
  if (!schema) return undefined
  const result = schema.validate(value, ALL_FAULTS)
  if (result.error) addFaults(faults, faultsOf(prefix, result.error))
  return result.value
}

function addFaults(faults: FieldFault[], found: readonly FieldFault[]) {
  for (const fault of found) faults.push(fault)
}

function replyOf(answer: unknown): Reply {
  return answer instanceof Answer ? answer : { status: 200, body: answer, headers: {} }
}

function written(write: NonNullable<Endpoint['write']>, request: Request, reply: Reply): Reply {
  const { status, type, content, headers } = write(request, {
    status: reply.status,
    body: (reply.body ?? {}) as object,
  })
  return { status, body: content, headers: { ...reply.headers, ...headers, 'Content-Type': type } }
}

function respond({ status, body }: Reply, headers: Reply['headers'], h: ResponseToolkit) {
  const response = h.response((body ?? undefined) as object).code(status)
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
  return response
}

/** Requests without a key share what one organization may hold of the connections. */
const ANONYMOUS = 'anonymous'

/** hapi does not read bodies; `takeBody` does. */
export const UNREAD: NonNullable<RouteOptions['payload']> = {
  parse: false,
  output: 'stream',
  maxBytes: Number.MAX_SAFE_INTEGER,
  timeout: false,
}

type NeverCall = Call<never, never, never>

declare module '@hapi/hapi' {
  interface RouteOptionsApp {
    readonly access?: Access
    /** Undefined for a route that is not an operation. */
    readonly operation?: Endpoint
  }
}
