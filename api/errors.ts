import { isBoom } from '@hapi/boom'
import type { Boom } from '@hapi/boom'
import type { Request, ResponseToolkit } from '@hapi/hapi'
import Joi from 'joi'
import type { Unwritten, Written } from './written-answer.ts'
import { cut, describeFault, MAX_FAULTS } from '../jobs/rules/core/reader.ts'
import { FileMissing, StorageAway } from '../jobs/storage.ts'
import {
  isDatabaseAway,
  isLockRefused,
  isSerializationFailure,
  isStatementTimeout,
  NoConnection,
} from '../sql/core/db.ts'

/**
 * An answer that is an error. The server turns it into `{detail, code, request_id}` with the members and
 * headers given here.
 */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly members: object
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    detail: string,
    more: { members?: object; headers?: Record<string, string> } = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.members = more.members ?? {}
    this.headers = more.headers ?? {}
  }
}

export const badRequest = (detail: string) => new ApiError(400, 'bad_request', detail)
export const unauthorized = (detail: string) =>
  new ApiError(401, 'unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer' } })
export const forbidden = (detail: string) => new ApiError(403, 'forbidden', detail)
/** A resource that the caller may not see has the same text as one that does not exist. */
export const notFound = (what: string) => new ApiError(404, 'not_found', `${what} not found`)
export const conflict = (detail: string) => new ApiError(409, 'conflict', detail)
/** 409 whose `detail` is an object: the message and the conflicting resource. */
export const conflictWith = (
  message: string,
  resource: { type: string; id: string; name: string; version?: number; version_id?: string },
) => new ApiError(409, 'conflict', message, { members: { detail: { message, resource } } })

export interface FieldFault {
  /** `body.`, `query.` or `path.`, and the path of the member. */
  readonly field: string
  /** What the member must be, without its name. */
  readonly message: string
}

/** 422 with the faults of the request, the first 100 of them one by one. */
export function validationError(faults: readonly FieldFault[]) {
  // Names of members are a client's, and of any length.
  const shown = faults
    .slice(0, MAX_SHOWN)
    .map(({ field, message }) => ({ field: cut(field, MAX_FIELD), message }))
  const [first] = shown
  const least = faults.length >= MAX_FAULTS ? 'at least ' : ''
  const more = faults.length > 1 ? ` (and ${least}${faults.length - 1} more)` : ''
  return new ApiError(422, 'validation_error', `${first && describeFault(first)}${more}`, {
    members: { details: { errors: shown } },
  })
}

/** Options by which joi finds every fault and says what is wrong without naming the member. */
export const ALL_FAULTS: Joi.ValidationOptions = {
  abortEarly: false,
  errors: { label: false },
  // Compiled here, because joi compiles what is given as a text at each check.
  messages: { 'string.pattern.name': Joi.expression('{{#label}} must be {{#name}}') as never },
}

/** The faults joi found, under a prefix such as `body`. */
export function faultsOf(prefix: string, error: Joi.ValidationError): FieldFault[] {
  return error.details.map(({ path, message }) => ({
    field: [prefix, ...path].join('.'),
    message,
  }))
}

/** Gives what an operation threw, or hapi refused, the shape of all errors. */
export function answerError(thrown: Boom, request: Request, h: ResponseToolkit, log: ErrorLog) {
  const error = asApiError(thrown, request, log)
  const body = {
    detail: error.message,
    code: error.code,
    request_id: request.info.id,
    ...error.members,
  }
  const write = request.route.settings.app?.operation?.write ?? asJson
  const { status, type, content, headers } = write(request, { status: error.status, body })
  const answer = h.response(content).code(status).type(type)
  for (const [name, value] of Object.entries({ ...error.headers, ...headers })) {
    answer.header(name, value)
  }
  return answer
}

function asJson(_: Request, { status, body }: Unwritten): Written {
  return { status, type: 'application/json', content: body }
}

function asApiError(thrown: unknown, request: Request, log: ErrorLog): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof NoConnection) {
    request.app.refused = 'no_connection'
    return unavailable('The service is busy; try again', 2)
  }
  if (isStatementTimeout(thrown)) {
    log.warn(whichOf(request), 'a statement took too long')
    return unavailable(request.method === 'get' ? NARROW : 'The database took too long', 5)
  }
  if (isDatabaseAway(thrown)) {
    log.warn({ request_id: request.info.id, err: thrown }, 'the database is away')
    return unavailable('The service is temporarily unavailable', 5)
  }
  if (isOutrun(thrown)) {
    log.warn({ request_id: request.info.id, err: thrown }, 'another transaction was in the way')
    return unavailable('The service is busy; try again', 1)
  }
  if (thrown instanceof StorageAway) {
    log.warn({ request_id: request.info.id, err: thrown }, 'the storage is away')
    const detail = 'Stored files cannot be reached or written at the moment'
    return new ApiError(503, 'storage_unavailable', detail, { headers: { 'Retry-After': '30' } })
  }
  if (thrown instanceof FileMissing) {
    log.error({ request_id: request.info.id, err: thrown }, 'a stored file is missing')
    const detail = 'A stored file is missing; the operator may restore it'
    return new ApiError(500, 'file_missing', detail)
  }
  if (isBoom(thrown) && thrown.output.statusCode < 500) {
    const { statusCode } = thrown.output
    // A wrong content type is a bad request in this interface.
    const status = statusCode === 415 ? 400 : statusCode
    return new ApiError(status, CODES[status] ?? 'bad_request', thrown.message || 'Bad request')
  }
  log.error({ ...whichOf(request), err: thrown }, 'operation failed')
  return new ApiError(500, 'internal_error', 'Internal server error')
}

/** Another transaction was in the way; a request that is sent again may succeed. */
export function isOutrun(error: unknown): error is Error {
  return isLockRefused(error) || isSerializationFailure(error)
}

/** Names a request in the log without its path: in that of a sign-in link stands a secret. */
function whichOf({ info, route }: Request) {
  return { request_id: info.id, operation: route.path }
}

function unavailable(detail: string, seconds: number) {
  return new ApiError(503, 'unavailable', detail, { headers: { 'Retry-After': String(seconds) } })
}

const NARROW =
  'The query took too long. Narrow it: a shorter time span, one project or agent, rarer words, a smaller page'
const CODES: Readonly<Record<number, string>> = {
  400: 'bad_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
}
/** Faults that are told each on its own. */
const MAX_SHOWN = 100
const MAX_FIELD = 512

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Why the request was refused although nothing was wrong with it. */
    refused?: 'body_room' | 'concurrency' | 'no_connection'
  }
}

interface ErrorLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
