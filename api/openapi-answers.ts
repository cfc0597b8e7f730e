import { STATUS_CODES } from 'node:http'
import type Joi from 'joi'
import { isKeyed } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { errorAnswers, errorBody } from './fields.ts'
import { describedOf } from './joi-description.ts'
import type { JsonSchema } from './json-schema-rules.ts'
import type { Schemas } from './json-schema.ts'
import { READ_POSITION } from './read-replica.ts'

/** The answers of an operation at one of its paths, by status. */
export function describeAnswers(operation: Endpoint, path: string, schemas: Schemas) {
  const { access, body } = operation
  const types = body && 'bytes' in body ? body.types : undefined
  return Object.fromEntries(
    Object.entries(answersOf(operation, path)).map(([status, schema]) => [
      status,
      schema === sharedError(status) && access !== 'open'
        ? { $ref: `#/components/responses/${errorName(status)}` }
        : describeAnswer({ status, schema, access, types }, schemas),
    ]),
  )
}

/** Its own answers, and the errors that any operation of its kind can give. */
function answersOf(operation: Endpoint, path: string): Readonly<Record<string, Joi.Schema>> {
  const { access, method, answers, query } = operation
  const namesProject = query !== undefined && 'project' in (describedOf(query).keys ?? {})
  return {
    ...errorAnswers(access),
    ...(method !== 'GET' && { 408: errorBody, 413: errorBody }),
    ...((path.includes('{') || namesProject) && { 404: errorBody }),
    ...(isKeyed(operation) && { 409: errorBody }),
    ...answers,
  }
}

/** The errors that several operations share, by name. */
export function describeErrors(operations: readonly Endpoint[], schemas: Schemas) {
  const statuses = new Set(
    operations.flatMap((operation) => Object.keys(answersOf(operation, operation.path))),
  )
  return Object.fromEntries(
    [...statuses]
      .filter((status) => Number(status) >= 400)
      .map((status) => [
        errorName(status),
        describeAnswer({ status, schema: sharedError(status), access: 'key' }, schemas),
      ]),
  )
}

/** The body that a status has in most operations. */
function sharedError(status: string) {
  return errorAnswers('key')[Number(status)] ?? errorBody
}

function errorName(status: string) {
  return (STATUS_CODES[status] ?? status).replaceAll(' ', '')
}

function describeAnswer({ status, schema, access, types }: Described, schemas: Schemas) {
  return {
    description: STATUS_CODES[status] ?? status,
    headers: headersOf(Number(status), access),
    ...(types ? describeTypes(schema, types, schemas) : describeContent(schema, schemas)),
  }
}

interface Described {
  readonly status: string
  readonly schema: Joi.Schema
  readonly access: Endpoint['access']
  /** Those of the request, one of which the answer has; JSON where it is absent. */
  readonly types?: readonly string[] | undefined
}

function describeTypes(schema: Joi.Schema, types: readonly string[], schemas: Schemas) {
  const described = schemas.describe(schema)
  const isJson = (type: string) => type === 'application/json'
  return {
    content: Object.fromEntries(
      types.map((type) => [type, { schema: isJson(type) ? described : BINARY }]),
    ),
  }
}

/** No content for an answer without a body, bytes for a file, otherwise JSON. */
function describeContent(schema: Joi.Schema, schemas: Schemas) {
  const { type, metas = [], flags } = describedOf(schema)
  const types = metas.flatMap((meta) => meta.types ?? [])
  if (types.length > 0) {
    return { content: Object.fromEntries(types.map((each) => [each, { schema: BINARY }])) }
  }
  if (type === 'any' && flags?.label === undefined) return {}
  return { content: { 'application/json': { schema: schemas.describe(schema) } } }
}

function headersOf(status: number, access: Endpoint['access']) {
  const names = [
    'X-Request-ID',
    ...(access === 'open' ? [] : ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']),
    ...(status < 300 && access !== 'open' ? [READ_POSITION] : []),
    ...([202, 429, 503].includes(status) ? ['Retry-After'] : []),
    ...(status === 202 ? ['Location'] : []),
    ...([402, 429].includes(status) ? ['X-Quota-Exceeded'] : []),
  ]
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export const BINARY: JsonSchema = { type: 'string', format: 'binary' }

const seconds = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } })
/** The headers that answers refer to. */
export const HEADERS = {
  'X-Request-ID': { description: 'Identifies the request', schema: { type: 'string' } },
  [READ_POSITION]: {
    description:
      'What to send with the next request; where the request had one and there is a replica',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': seconds('Requests a minute of this key, or of this address without one'),
  'RateLimit-Remaining': seconds(
    'Requests that would pass now, by the limit of the key and that of its organization',
  ),
  'RateLimit-Reset': seconds('Seconds until the whole burst passes again, by both'),
  'Retry-After': seconds('Seconds to wait before the next request'),
  Location: { description: 'The job to ask for the outcome', schema: { type: 'string' } },
  'X-Quota-Exceeded': {
    description: 'The metric or limit that is used up',
    schema: { type: 'string' },
  },
}
