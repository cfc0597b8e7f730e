import type { Readable } from 'node:stream'
import type { Request, ResponseToolkit } from '@hapi/hapi'
import type Joi from 'joi'
import type { ListApart } from '../jobs/rules/core/json-pieces.ts'
import type { ContentForm } from '../jobs/rules/traces/content.ts'
import type { Valid } from '../jobs/shape.ts'
import type { ApiContext } from './context.ts'
import type { FieldFault } from './errors.ts'
import type { Access, Principal } from './principal.ts'
import type { Unwritten, Written } from './written-answer.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One operation: its path, access rule, schemas, documentation and handler in one value. */
export interface Endpoint<A = unknown> {
  readonly method: Method
  /** Relative to the base path `/api/v1`; a path that begins with `//` is relative to the root. */
  readonly path: string
  /** The heading of the OpenAPI document it stands under. `routes.ts` sets it. */
  readonly tag?: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /**
   * Performed again where the process died under an idempotency key: the operation attaches to the job
   * that it submitted. Otherwise such a repetition is answered with 202 and that job.
   */
  readonly attaches?: boolean
  /** Honours an `Idempotency-Key`. Default: every POST that is not open. */
  readonly keyed?: boolean
  /**
   * Of a GET: counts or sums many rows, so that its statements may take longer, over connections of their
   * own. Default false.
   */
  readonly aggregates?: boolean
  /** Of a GET that is no list: a read replica may answer it. Default false. */
  readonly replicated?: boolean
  /** Further paths of the same operation. */
  readonly aliases?: readonly (string | OperationPath)[]
  /** Takes a key as the password of Basic credentials too, whose user name is ignored. Default false. */
  readonly takesBasic?: boolean
  readonly params?: Joi.ObjectSchema
  readonly query?: Joi.ObjectSchema
  /** Headers of its own, by their names in lower case. */
  readonly headers?: Joi.ObjectSchema
  readonly body?: Body
  /** How its answers are written, errors included; default as JSON. */
  readonly write?: (request: Request, answer: Unwritten) => Written
  readonly answers: Readonly<Record<number, Joi.Schema>>
  readonly handle: (call: Call<never, never, never>) => Promise<A>
}

/** A path of an operation. */
export interface OperationPath {
  /** As the `path` of an operation is written. */
  readonly path: string
  /** Of an alias: since when clients are to use the operation's own path instead. */
  readonly deprecatedSince?: Date
}

/**
 * The operations of a folder, in the order of the documentation. Their OpenAPI tag is the name of the
 * folder, unless they are listed by tag.
 */
export type Area = readonly Endpoint[] | Readonly<Record<string, readonly Endpoint[]>>

/** How a request body is read: by a joi schema, by a reader of its own, from bytes, or as a stream. */
export type Body<T = unknown> = Joi.Schema<T> | CheckedBody<T> | BytesBody<T> | StreamedBody

export interface CheckedBody<T> {
  /** What the documentation shows. */
  readonly documented: Joi.Schema
  /** Checks and normalises in one pass where joi would be too slow. Throws nothing but an `ApiError`. */
  readonly read: (value: unknown, reading: BodyReading) => ReadBody<T> | Promise<ReadBody<T>>
  /** Bound of the body after inflation. */
  readonly maxBytes: number
  /** Bound of its lists, objects, texts, numbers and words together; default MAX_VALUES of a body. */
  readonly maxValues?: number
  /** A list that the body is, or has. Its items come as `UnparsedJson`. */
  readonly apart?: ListApart
}

/** What a body is read with, besides itself. */
export interface BodyReading {
  readonly now: Date
  /** Of the traces that it holds. */
  readonly contentForm: ContentForm
}

/** A body that is JSON, or of another type: then `read` is given its bytes as a `Buffer`. */
export interface BytesBody<T> extends Omit<CheckedBody<T>, 'apart'> {
  readonly bytes: true
  /** Of these media types; one that names none is of the first. */
  readonly types: readonly string[]
  /** Bound of the body as it is sent. */
  readonly maxSentBytes: number
}

type ReadBody<T> = { readonly value: T } | { readonly faults: readonly FieldFault[] }

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
  /** Who calls; undefined where nobody does, which only open and public operations allow. */
  readonly principal: Principal
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly request: Request
  readonly h: ResponseToolkit
}

/** What an operation answers with 2xx, before it is written as JSON: times are dates. */
export type Answered<A> = A extends Answer<infer Body> ? Body : A

/** What an operation answers. */
export type AnswerOf<O> = O extends Endpoint<infer A> ? Answered<A> : never

/** An answer with a status other than 200, or with headers. */
export class Answer<Body = unknown> {
  readonly status: number
  readonly body: Body
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, body: Body, headers: Record<string, string> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function endpoint<
  P extends Joi.ObjectSchema | undefined = undefined,
  Q extends Joi.ObjectSchema | undefined = undefined,
  B extends Body | undefined = undefined,
  A = unknown,
>(
  method: Method,
  path: string,
  declared: Omit<Endpoint, 'method' | 'path' | 'tag' | 'params' | 'query' | 'body' | 'handle'> & {
    readonly params?: P
    readonly query?: Q
    readonly body?: B
    readonly handle: (call: Call<Input<P>, Input<Q>, BodyOf<B>>) => Promise<A>
  },
): Endpoint<A> {
  return { method, path, ...declared } as Endpoint<A>
}

/** Whether the operation honours an Idempotency-Key. */
export function isKeyed({ keyed, method, access }: Endpoint) {
  return keyed ?? (method === 'POST' && access !== 'open')
}

/** The paths of an operation: its own, then its aliases'. */
export function pathsOf({ path, aliases = [] }: Endpoint): OperationPath[] {
  return [path, ...aliases].map((each) => (typeof each === 'string' ? { path: each } : each))
}

/** The full path as hapi takes it, where `{name*}` is the rest of a path with its slashes. */
export function fullPath(path: string) {
  return path.startsWith('//') ? path.slice(1) : `/api/v1${path}`
}

/** The full path as the documentation writes it. */
export function documentedPath(path: string) {
  return fullPath(path).replaceAll('*}', '}')
}

type Input<S> = S extends Joi.ObjectSchema ? Valid<S> : undefined
type BodyOf<B> = B extends StreamedBody
  ? Readable
  : B extends CheckedBody<infer T> | BytesBody<infer T>
    ? T
    : B extends Joi.Schema
      ? Valid<B>
      : undefined
