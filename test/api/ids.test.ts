import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { ServerInjectOptions } from '@hapi/hapi'
import { leastValue } from '../support/document.ts'
import type { Described, Document } from '../support/document.ts'
import { makeSamples } from '../support/resources.ts'
import { openService } from '../support/service.ts'

t.test('an id of no form', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const samples = await makeSamples(service, org)
  const { payload } = await service.server.inject({ url: '/openapi.json' })
  const document = JSON.parse(payload) as Document
  let asked = 0

  /** Everything real but for one id; the answer without what differs from request to request. */
  async function ask({ path, method, described }: Operation, place: Place, id: string) {
    const given = (where: Place['in'], name: string) =>
      where === place.in && name === place.name ? id : (samples[name] ?? '')
    const schema = described.requestBody?.content['application/json']?.schema
    const query = place.in === 'query' ? `?${place.name}=${encodeURIComponent(id)}` : ''
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(given('path', name)),
    )
    const { statusCode, payload } = await service.server.inject({
      method: method.toUpperCase(),
      url: url + query,
      headers: { authorization: `Bearer ${org.key}`, prefer: 'respond-async' },
      ...(schema && {
        payload: {
          ...(leastValue(document, schema) as object),
          ...withSamples(document, schema, samples),
          agent_name: samples['agent_name'],
          ...MORE[`${path} ${place.name}`],
          ...(place.in === 'body' && { [place.name]: place.isList ? [id] : id }),
        },
      }),
    } as ServerInjectOptions)
    asked++
    const text = payload
      .replace(/"request_id":"[^"]*"/, '')
      .replace(/"job_id":"[^"]*"/, '')
      .replace(/"detail":"Trace .* not found"/, '"detail":"Trace <id> not found"')
      .replaceAll(shown(id), '<id>')
      .replaceAll(shown(id.replace(/[\0\p{Cs}]/gu, '\u0001')), '<id>')
    return { status: statusCode, text }
  }

  for (const operation of operationsOf(document)) {
    for (const place of placesOf(document, operation)) {
      const { path, method } = operation
      const about = `${method.toUpperCase()} ${path}: ${place.name} in ${place.in}`
      t.test(`is unknown like any other in ${about}`, async (t) => {
        const unknown = await ask(operation, place, randomUUID())
        // 202 where a job is to look for what a filter selects.
        t.match(unknown.status, /^(200|202|404)$/, unknown.text)
        for (const [form, id] of Object.entries(FORMS)) {
          if (place.in === 'path' && !fitsPath(id)) continue
          if (place.in === 'query' && !id.isWellFormed()) continue
          t.same(await ask(operation, place, id), unknown, form)
        }
      })
    }
  }

  t.test('was asked of every operation that takes one', async (t) => {
    t.ok(asked > 400, `${asked} requests`)
  })

  t.test('selects nothing in the filters of a build', async (t) => {
    const { post } = service.client(org.key)
    const body = { filters: { manifest_ids: ['x', 'a\0b'] } }
    const { status } = await post(`/datasets/${samples['dataset_id']}/build`, body, {
      prefer: 'respond-async',
    })
    t.equal(status, 202)
  })

  t.test('names no trace of a pushed score', async (t) => {
    const scores = Object.values(FORMS).map((trace_id) => ({ trace_id, name: 'x', score: 1 }))
    const { status, body } = await service.client(org.key).post('/eval-scores', { scores })
    t.match({ status, body }, { status: 200, body: { stored: 0 } })
    t.same(
      body.errors.map(({ code }: { code: string }) => code),
      scores.map(() => 'not_found'),
    )
  })

  t.test('that names something new is held to its form', async (t) => {
    const { post } = service.client(org.key)
    const trace = { agent_name: 'a', trace_id: 'a\0b' }
    t.match(await post('/traces', trace), { status: 422, body: { code: 'validation_error' } })
    for (const project of ['a\0b', '', 'x'.repeat(300)]) {
      const dataset = { name: 'new', dataset_type: 'sft', project }
      const { status, body } = await post('/datasets', dataset)
      t.match(
        { status, body },
        {
          status: 400,
          body: { detail: 'The name of a new project is 1 to 256 printable characters' },
        },
      )
    }
  })

  t.test('is documented as a string without a format', async (t) => {
    for (const operation of operationsOf(document)) {
      for (const { format, name } of placesOf(document, operation)) {
        t.equal(format, undefined, `${operation.path} ${name}`)
      }
    }
  })
})

/** As an answer shows an id that it was asked for. */
const shown = (id: string) => JSON.stringify(id)

const FORMS = {
  word: 'x',
  'braced UUID': `{${randomUUID()}}`,
  'UUID and a letter': `${randomUUID()}a`,
  NUL: 'a\0b',
  'lone surrogate': 'a\ud800',
  '10,000 characters': 'y'.repeat(10_000),
  nothing: '',
}

/** The router knows no empty segment. */
const fitsPath = (id: string) => id !== '' && id.isWellFormed()

/** Members without which an id is not looked at. */
const FILE = { path: 'a', content: '' }
const MORE: Readonly<Record<string, object>> = {
  '/api/v1/api-keys workspace_id': { label: 'x', scope: 'workspace' },
  '/api/v1/api-keys project_id': { label: 'x', scope: 'project' },
  '/api/v1/traces/{trace_id}/annotations trace_id': { rating: 5 },
  '/api/v1/traces/{trace_id}/eval-scores trace_id': { scores: [{ name: 'x', score: 1 }] },
  '/api/v1/traces/batch-decision manifest_id': { trace_ids: undefined },
  '/api/v1/skills/{skill_name}/attachments skill_version_id': FILE,
  '/api/v1/skills/{skill_name}/attachments/bulk skill_version_id': { files: [FILE] },
  '/api/v1/replay/tasks/{task_id}/submit replayed_trace_id': { status: 'completed', trace: null },
  '/api/v1/traces/batch-decision trace_ids': { manifest_id: undefined },
}

/** Whose ids name something new, or stand in what is stored. */
const STORING = /\/(traces|traces\/batch|import\/\w+)$/

/** Every id that an operation takes, in a path, a query or the body itself. */
function placesOf(document: Document, { path, described }: Operation): Place[] {
  const given = (described.parameters ?? [])
    .filter((each) => each.in !== 'header' && isId(each.name))
    .map((each) => ({ in: each.in, name: each.name, isList: false, format: each.schema.format }))
  const schema = described.requestBody?.content['application/json']?.schema
  if (!schema || STORING.test(path)) return given as Place[]
  const members = schema.$ref ? document.components.schemas[schema.$ref.slice(21)] : schema
  const inBody = Object.entries(members?.properties ?? {})
    .filter(([name]) => isId(name))
    .map(([name, { type, items, format }]) => {
      const isList = type === 'array'
      return { in: 'body', name, isList, format: items?.format ?? format }
    })
  return [...given, ...inBody] as Place[]
}

/** A write by an unknown project makes the project; workers and installations name themselves. */
function isId(name: string) {
  return !/^(worker|install|repo)_id$/.test(name) && /(_id|_ids|^version|^against)$/.test(name)
}

function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths)
    .filter(([path]) => !path.includes('{processor}'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({ path, method, described })),
    )
}

function withSamples(
  document: Document,
  schema: { readonly $ref?: string },
  samples: Readonly<Record<string, string>>,
) {
  const members = schema.$ref ? document.components.schemas[schema.$ref.slice(21)] : {}
  const named = Object.keys(members?.properties ?? {}).flatMap((name) => {
    const id = samples[name.replace(/^(old|candidate|baseline|source|target)_/, '')]
    return id !== undefined && name !== 'agent_name' ? [[name, id]] : []
  })
  return Object.fromEntries(named) as object
}

interface Place {
  readonly in: 'path' | 'query' | 'body'
  readonly name: string
  readonly isList: boolean
  readonly format: string | undefined
}

interface Operation {
  readonly path: string
  readonly method: string
  readonly described: Described
}
