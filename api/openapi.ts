import { setImmediate } from 'node:timers/promises'
import { order } from '../jobs/rules/core/order.ts'
import { documentedPath, isKeyed, pathsOf } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'
import { Schemas } from './json-schema.ts'
import type { Member } from './json-schema.ts'
import { READ_POSITION } from './read-replica.ts'
import { BINARY, describeAnswers, describeErrors, HEADERS } from './openapi-answers.ts'

/**
 * The OpenAPI document of the interface, written from the declarations of its operations. It is long
 * work for one process, so requests have their turn after each operation.
 */
export async function describeInterface(
  operations: readonly Endpoint[],
  version: string,
): Promise<object> {
  const schemas = new Schemas()
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    for (const { path, deprecatedSince } of pathsOf(operation)) {
      const methods = (paths[documentedPath(path)] ??= {})
      methods[operation.method.toLowerCase()] = {
        ...describeOperation(operation, path, schemas),
        ...(deprecatedSince && { deprecated: true }),
      }
    }
    await setImmediate()
  }
  const responses = describeErrors(operations, schemas)
  const tags = [...new Set(operations.flatMap(({ tag }) => tag ?? []))]
  return {
    openapi: '3.0.3',
    info: { title: TITLE, version, description: DESCRIPTION, license: LICENSE },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name })),
    security: CREDENTIALS,
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas.components).sort(byName)),
      responses,
      parameters: { [READ_POSITION]: parameter('header', POSITION) },
      headers: HEADERS,
      securitySchemes: SCHEMES,
    },
  }
}

function describeOperation(operation: Endpoint, path: string, schemas: Schemas) {
  const { method, tag, summary, description, access, takesBasic } = operation
  return {
    operationId: operationId(method, path),
    ...(tag && { tags: [tag] }),
    summary,
    ...(description && { description }),
    ...(access === 'open' && { security: [] }),
    ...(takesBasic && { security: [...CREDENTIALS, { basic: [] }] }),
    ...(access === 'public' && { security: [{}, ...CREDENTIALS] }),
    parameters: describeParameters(operation, path, schemas),
    ...describeBody(operation, schemas),
    responses: describeAnswers(operation, path, schemas),
  }
}

function describeParameters(operation: Endpoint, path: string, schemas: Schemas) {
  const { params, query, headers } = operation
  return [
    // An alias may lack a parameter; a parameter in a path always has a value.
    ...schemas
      .describeMembers(params)
      .filter(({ name }) => documentedPath(path).includes(`{${name}}`))
      .map((member) => parameter('path', { ...member, required: true })),
    ...schemas.describeMembers(query).map((member) => parameter('query', member)),
    ...schemas.describeMembers(headers).map((member) => parameter('header', member)),
    ...(isKeyed(operation) ? [parameter('header', { name: 'Idempotency-Key', ...KEY })] : []),
    ...(operation.access === 'open' ? [] : [{ $ref: `#/components/parameters/${READ_POSITION}` }]),
  ]
}

function parameter(
  location: string,
  { name, required, schema: { description, ...schema } }: Member,
) {
  return {
    name,
    in: location,
    ...(required && { required }),
    ...(description !== undefined && { description }),
    schema,
  }
}

function describeBody({ body }: Endpoint, schemas: Schemas) {
  if (!body) return {}
  if ('stream' in body) {
    const schema = body.documented ? schemas.describe(body.documented) : BINARY
    const content = Object.fromEntries(body.types.map((type) => [type, { schema }]))
    return { requestBody: { required: true, content } }
  }
  const required = 'read' in body || schemas.describeMembers(body).some((member) => member.required)
  const schema = schemas.describe('read' in body ? body.documented : body)
  const types = 'bytes' in body ? body.types : [JSON_TYPE]
  const content = Object.fromEntries(
    types.map((type) => [type, { schema: type === JSON_TYPE ? schema : BINARY }]),
  )
  return { requestBody: { required, content } }
}

/** `POST /traces/{trace_id}/eval-scores` is `postTracesByTraceIdEvalScores`. */
function operationId(method: string, path: string) {
  const words = path.replaceAll(/\{(\w+)\*?\}/g, 'by-$1').split(/[^A-Za-z0-9]+/)
  const capitalised = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return method.toLowerCase() + capitalised.join('')
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => order(a, b)

const JSON_TYPE = 'application/json'
export const TITLE = 'Agent Dataset Lifecycle Service'
const DESCRIPTION =
  'Send in the traces of agents, learn for each one whether to keep, repair, replay or drop it, and build versioned training datasets of what is worth keeping.'
const LICENSE = { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' }
/** Each of them alone suffices. */
const CREDENTIALS = [{ bearer: [] }, { api_key: [] }, { session: [] }]
const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer' },
  basic: { type: 'http', scheme: 'basic', description: 'The password is the API key' },
  api_key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  session: { type: 'apiKey', in: 'cookie', name: 'service_session' },
}
const KEY = {
  required: false,
  schema: {
    type: 'string',
    maxLength: 255,
    description: 'Sent again within 24 hours, the request is answered as before and done once',
  },
}
const POSITION = {
  name: READ_POSITION,
  required: false,
  schema: {
    type: 'string',
    example: '0/0',
    description:
      'For a client that need not see what others have just written. Send `0/0` with the first request, and with each one after it the value of the answer before: lists then hold at least what this client has written and seen. Without it, as with a value that is none, they hold all that was written before the request. It has an effect where the installation reads from a replica.',
  },
}
