import type { Readable } from 'node:stream'
import type { Request, ResponseToolkit, RouteOptions, ServerRoute } from '@hapi/hapi'
import type Joi from 'joi'
import type { Valid } from '../jobs/shape.ts'
import type { ApiContext } from './context.ts'
import { ALL_FAULTS, faultsOf, validationError } from './errors.ts'
import type { FieldFault } from './errors.ts'
import { performOnce, readIdempotencyKey } from './idempotency.ts'
import type { Reply } from './idempotency.ts'
import type { Access, Caller, Principal } from './principal.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One operation: its path, access rule, schemas, documentation and handler in one value. */
export interface Endpoint {
  readonly method: Method
  /** Relative to the base path `/api/v1`, unless it begins with `//`: then without that slash as it is. */
  readonly path: string
  readonly area: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /** Further paths that do exactly the same. */
  readonly aliases?: readonly string[]
  readonly params?: Joi.ObjectSchema
  readonly query?: Joi.ObjectSchema
  readonly body?: Body
  readonly answers: Readonly<Record<number, Joi.Schema>>
  readonly handle: (call: Call<never, never, never>) => Promise<unknown>
}

/** How a request body is taken in: by a joi schema, by own reader, or as a stream. */
export type Body<T = unknown> = Joi.Schema<T> | CheckedBody<T> | StreamedBody

export interface CheckedBody<T> {
  /** What the documentation shows. */
  readonly documented: Joi.Schema
  /** Checks and normalises in one pass where joi would be too slow. Throws nothing. */
  readonly read: (value: unknown, now: Date) => { value: T } | { faults: readonly FieldFault[] }
  readonly maxBytes: number
}

export interface StreamedBody {
  readonly stream: true
  /** What the documentation shows. */
  readonly documented?: Joi.Schema
  readonly maxBytes: number
  readonly types: string[]
}

/** What a handler is called with. */
export interface Call<P, Q, B> {
  readonly context: ApiContext
  /** Who calls; of an open or public operation, it may be nobody: undefined. */
  readonly principal: Principal
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly request: Request
  readonly h: ResponseToolkit
}

/** An answer with a status other than 200, or with headers. */
export class Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, body: unknown, headers: Record<string, string> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function endpoint<
  P extends Joi.ObjectSchema | undefined = undefined,
  Q extends Joi.ObjectSchema | undefined = undefined,
  B extends Body | undefined = undefined,
>(
  method: Method,
  path: string,
  declared: Omit<Endpoint, 'method' | 'path' | 'params' | 'query' | 'body' | 'handle'> & {
    readonly params?: P
    readonly query?: Q
    readonly body?: B
    readonly handle: (call: Call<Input<P>, Input<Q>, BodyOf<B>>) => Promise<unknown>
  },
): Endpoint {
  return { method, path, ...declared } as Endpoint
}

/** The hapi routes of an operation: one a path. */
export function routesOf(operation: Endpoint, context: ApiContext): ServerRoute[] {
  return [operation.path, ...(operation.aliases ?? [])].map((path) => ({
    method: operation.method,
    path: fullPath(path),
    options: routeOptions(operation, context),
  }))
}

export function fullPath(path: string) {
  return path.startsWith('//') ? path.slice(1) : `/api/v1${path}`
}

function routeOptions(operation: Endpoint, context: ApiContext): RouteOptions {
  return {
    app: { operation } as never,
    auth: operation.access === 'open' ? false : 'key',
    ...(operation.method !== 'GET' && { payload: UNREAD }),
    handler: (request, h) => handleRequest(operation, context, request, h),
  }
}

async function handleRequest(
  operation: Endpoint,
  context: ApiContext,
  request: Request,
  h: ResponseToolkit,
) {
  const input = readInput(operation, request, context.now()) as Inputs
  const { caller } = (request.auth.credentials ?? {}) as { caller?: Caller }
  const principal = caller?.principal as Principal
  const perform = (context: ApiContext, body: never) =>
    operation.handle({ context, principal, ...input, body, request, h })
  const key = caller && readIdempotencyKey(request)
  if (!key) return respond(await perform(context, input.body), h)
  const reply = await performOnce({ context, request, caller }, key, async (context, stream) =>
    replyOf(await perform(context, (stream ?? input.body) as never)),
  )
  return respond(new Answer(reply.status, reply.body, { ...reply.headers }), h)
}

/** Checks path, query and body and throws one 422 with all their faults. */
function readInput({ params, query, body }: Endpoint, request: Request, now: Date) {
  const faults: FieldFault[] = []
  function check(prefix: string, schema: Joi.Schema | undefined, value: unknown): unknown {
    if (!schema) return undefined
    const result = schema.validate(value, ALL_FAULTS)
    if (result.error) faults.push(...faultsOf(prefix, result.error))
    return result.value
  }
  function checkBody(): unknown {
    if (!body) return undefined
    if ('stream' in body) return request.payload
    const value: unknown = request.payload ?? {}
    if (isDeeperThan(MAX_DEPTH, value)) {
      faults.push({ field: 'body', message: `nested deeper than ${MAX_DEPTH} levels` })
      return undefined
    }
    if (!('read' in body)) return check('body', body, value)
    const result = body.read(value, now)
    if ('value' in result) return result.value
    faults.push(...result.faults)
    return undefined
  }
  const input = {
    params: check('path', params, request.params),
    query: check('query', query, request.query),
    body: checkBody(),
  }
  if (faults.length > 0) throw validationError(faults)
  return input
}

/** Without recursion, so that the depth of a hostile body costs no stack. */
function isDeeperThan(limit: number, value: unknown) {
  let level = [value].filter(isNested)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true
    const next: object[] = []
    for (const parent of level) {
      for (const child of Object.values(parent)) if (isNested(child)) next.push(child)
    }
    level = next
  }
  return false
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function replyOf(answer: unknown): Reply {
  return answer instanceof Answer ? answer : { status: 200, body: answer, headers: {} }
}

function respond(answer: unknown, h: ResponseToolkit) {
  if (!(answer instanceof Answer)) return answer as object
  const response = h.response((answer.body ?? undefined) as object).code(answer.status)
  for (const [name, value] of Object.entries(answer.headers)) response.header(name, value)
  return response
}

/** hapi leaves bodies alone: `takeBody` takes them in. */
export const UNREAD: NonNullable<RouteOptions['payload']> = {
  parse: false,
  output: 'stream',
  maxBytes: Number.MAX_SAFE_INTEGER,
  timeout: false,
}
const MAX_DEPTH = 64

interface Inputs {
  readonly params: never
  readonly query: never
  readonly body: never
}
type Input<S> = S extends Joi.ObjectSchema ? Valid<S> : undefined
type BodyOf<B> = B extends StreamedBody
  ? Readable
  : B extends CheckedBody<infer T>
    ? T
    : B extends Joi.Schema
      ? Valid<B>
      : undefined
