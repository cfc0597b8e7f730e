import { STATUS_CODES } from 'node:http'
import type Joi from 'joi'
import { fullPath } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { errorAnswers, errorBody } from './fields.ts'
import { openSchemas } from './json-schema.ts'
import type { JsonSchema, Member } from './json-schema.ts'

/** The OpenAPI document of the interface, written from the declarations of its operations. */
export function describeInterface(operations: readonly Endpoint[], version: string): object {
  const schemas = openSchemas()
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const methods = (paths[fullPath(path)] ??= {})
      methods[operation.method.toLowerCase()] = describeOperation(operation, path, schemas)
    }
  }
  const responses = describeErrors(operations, schemas)
  const areas = [...new Set(operations.map(({ area }) => area))]
  return {
    openapi: '3.0.3',
    info: { title: TITLE, version, description: DESCRIPTION, license: LICENSE },
    servers: [{ url: '/' }],
    tags: areas.map((name) => ({ name })),
    security: CREDENTIALS,
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas.components).sort(byName)),
      responses,
      headers: HEADERS,
      securitySchemes: SCHEMES,
    },
  }
}

function describeOperation(operation: Endpoint, path: string, schemas: Schemas) {
  const { method, area, summary, description, access } = operation
  return {
    operationId: operationId(method, path),
    tags: [area],
    summary,
    ...(description && { description }),
    ...(access === 'open' && { security: [] }),
    ...(access === 'public' && { security: [{}, ...CREDENTIALS] }),
    parameters: describeParameters(operation, path, schemas),
    ...describeBody(operation, schemas),
    responses: describeAnswers(operation, path, schemas),
  }
}

function describeParameters(operation: Endpoint, path: string, schemas: Schemas) {
  const { params, query } = operation
  const { describeMembers } = schemas
  return [
    // An alias may leave a parameter out; a path that has one always has a value for it.
    ...describeMembers(params)
      .filter(({ name }) => path.includes(`{${name}}`))
      .map((member) => parameter('path', { ...member, required: true })),
    ...describeMembers(query).map((member) => parameter('query', member)),
    ...(isKeyed(operation) ? [parameter('header', { name: 'Idempotency-Key', ...KEY })] : []),
  ]
}

function parameter(place: string, { name, required, schema: { description, ...schema } }: Member) {
  return {
    name,
    in: place,
    ...(required && { required }),
    ...(description !== undefined && { description }),
    schema,
  }
}

function describeBody({ body }: Endpoint, { describe, describeMembers }: Schemas) {
  if (!body) return {}
  if ('stream' in body) {
    const schema = body.documented ? describe(body.documented) : BINARY
    const content = Object.fromEntries(body.types.map((type) => [type, { schema }]))
    return { requestBody: { required: true, content } }
  }
  const required =
    'read' in body || describeMembers(body as Joi.ObjectSchema).some((member) => member.required)
  const schema = describe('read' in body ? body.documented : body)
  return { requestBody: { required, content: { 'application/json': { schema } } } }
}

function describeAnswers(operation: Endpoint, path: string, schemas: Schemas) {
  const { access } = operation
  return Object.fromEntries(
    Object.entries(answersOf(operation, path)).map(([status, schema]) => [
      status,
      schema === errorBody && access !== 'open'
        ? { $ref: `#/components/responses/${errorName(status)}` }
        : describeAnswer(status, schema, access, schemas),
    ]),
  )
}

/** Its own answers, and the errors that any operation of its kind can give. */
function answersOf(operation: Endpoint, path: string): Readonly<Record<string, Joi.Schema>> {
  const { access, method, answers, query } = operation
  const namesProject = Object.hasOwn((query?.describe()['keys'] ?? {}) as object, 'project')
  return {
    ...errorAnswers(access),
    ...(method !== 'GET' && { 408: errorBody, 413: errorBody }),
    ...((path.includes('{') || namesProject) && { 404: errorBody }),
    ...(isKeyed(operation) && { 409: errorBody }),
    ...answers,
  }
}

/** The errors that are alike for all operations that can give them. */
function describeErrors(operations: readonly Endpoint[], schemas: Schemas) {
  const statuses = new Set(
    operations.flatMap((operation) => Object.keys(answersOf(operation, operation.path))),
  )
  return Object.fromEntries(
    [...statuses]
      .filter((status) => Number(status) >= 400)
      .map((status) => [errorName(status), describeAnswer(status, errorBody, 'key', schemas)]),
  )
}

function errorName(status: string) {
  return (STATUS_CODES[status] ?? status).replaceAll(' ', '')
}

function describeAnswer(
  status: string,
  schema: Joi.Schema,
  access: Endpoint['access'],
  schemas: Schemas,
) {
  return {
    description: STATUS_CODES[status] ?? status,
    headers: headersOf(Number(status), access),
    ...describeContent(schema, schemas),
  }
}

/** Nothing for an answer without a body, bytes for a file, JSON else. */
function describeContent(schema: Joi.Schema, { describe }: Schemas) {
  const {
    type,
    metas = [],
    flags,
  } = schema.describe() as {
    type: string
    flags?: object
    metas?: { types?: string[] }[]
  }
  const types = metas.flatMap((meta) => meta.types ?? [])
  if (types.length > 0) {
    return { content: Object.fromEntries(types.map((each) => [each, { schema: BINARY }])) }
  }
  if (type === 'any' && !(flags && 'label' in flags)) return {}
  return { content: { 'application/json': { schema: describe(schema) } } }
}

function headersOf(status: number, access: Endpoint['access']) {
  const names = [
    'X-Request-ID',
    ...(access === 'open' ? [] : ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']),
    ...([202, 429, 503].includes(status) ? ['Retry-After'] : []),
    ...(status === 202 ? ['Location'] : []),
    ...(status === 402 ? ['X-Quota-Exceeded'] : []),
  ]
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Whether an Idempotency-Key has an effect on it. */
function isKeyed({ method, access }: Endpoint) {
  return method === 'POST' && access !== 'open'
}

/** `POST /traces/{trace_id}/eval-scores` is `postTracesByTraceIdEvalScores`. */
function operationId(method: string, path: string) {
  const words = path.replaceAll(/\{(\w+)\}/g, 'by-$1').split(/[^A-Za-z0-9]+/)
  const capitalised = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return method.toLowerCase() + capitalised.join('')
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)

const TITLE = 'Agent Dataset Lifecycle Service'
const DESCRIPTION =
  'Send in the traces of agents, learn for each one whether to keep, repair, replay or drop it, and build versioned training datasets of what is worth keeping.'
const LICENSE = { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' }
/** Any one of them will do. */
const CREDENTIALS = [{ bearer: [] }, { api_key: [] }, { session: [] }]
const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer' },
  api_key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  session: { type: 'apiKey', in: 'cookie', name: 'service_session' },
}
const BINARY: JsonSchema = { type: 'string', format: 'binary' }
const seconds = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } })
const HEADERS = {
  'X-Request-ID': { description: 'Identifies the request', schema: { type: 'string' } },
  'RateLimit-Limit': seconds('Requests a minute'),
  'RateLimit-Remaining': seconds('Requests that would pass now'),
  'RateLimit-Reset': seconds('Seconds until the whole burst passes again'),
  'Retry-After': seconds('Seconds to wait before the next request'),
  Location: { description: 'The job to ask for the outcome', schema: { type: 'string' } },
  'X-Quota-Exceeded': { description: 'The metric that is used up', schema: { type: 'string' } },
}

const KEY = {
  required: false,
  schema: {
    type: 'string',
    maxLength: 255,
    description: 'Sent again within 24 hours, the request is answered as before and done once',
  },
}

type Schemas = ReturnType<typeof openSchemas>
