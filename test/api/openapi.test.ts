import t from 'tap'
import { Validator } from '@seriousme/openapi-schema-validator'
import { documentedPath, pathsOf } from '../../api/endpoint.ts'
import { Schemas } from '../../api/json-schema.ts'
import { operations } from '../../api/routes.ts'
import { parseInPieces } from '../../jobs/rules/core/json-pieces.ts'
import type { CheckedBody } from '../../api/endpoint.ts'
import { answerOf, openChecker } from '../support/document.ts'
import type { Document, Schema } from '../support/document.ts'
import { openService } from '../support/service.ts'

t.test('the OpenAPI document', async (t) => {
  const service = await openService(t)
  const { server } = service
  const response = await server.inject({ url: '/openapi.json' })
  const document = JSON.parse(response.payload) as Document

  t.test('is valid to an independent validator', async (t) => {
    const { valid, errors } = await new Validator().validate(document as never)
    t.ok(valid, JSON.stringify(errors)?.slice(0, 2000))
    t.match(document.openapi, /^3\.0/)
    t.equal(document.info.version, '0.1.0')
  })

  t.test('spells canceled in one way', async (t) => {
    t.match(response.payload, /canceled/)
    t.notMatch(response.payload, /cancelled/i)
  })

  t.test('describes every operation', async (t) => {
    for (const operation of operations) {
      const { method } = operation
      for (const { path } of pathsOf(operation)) {
        const described = document.paths[documentedPath(path)]?.[method.toLowerCase()]
        t.ok(
          described?.summary && described.tags?.length && described.responses,
          `${method} ${path}`,
        )
      }
    }
  })

  t.test('says of every answer with a body what it is, files included', async (t) => {
    const silent = operationsOf(document).flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status, { content }]) => /^20[0126]$/.test(status) && !content)
        .map(([status]) => `${operationId} ${status}`),
    )
    t.same(silent, [])
    const { paths } = document
    const exported = paths['/api/v1/datasets/{dataset_id}/versions/{version}/export']?.['get']
    t.match(exported?.responses[200]?.content, {
      'application/x-ndjson': { schema: { type: 'string', format: 'binary' } },
    })
    t.match(document.components.schemas['ImportFile'], { type: 'string', format: 'binary' })
  })

  t.test('tells apart what an answer always has and what a request may leave out', async (t) => {
    const { ListedTrace, TraceList, Job, TraceRequest, LlmCall } = document.components.schemas
    t.same(ListedTrace?.required, Object.keys(ListedTrace?.properties ?? {}))
    t.ok(TraceList?.required?.includes('next_cursor'))
    t.ok(Job?.required?.includes('finished_at'))
    t.same([TraceRequest?.required, LlmCall?.required], [undefined, undefined])
  })

  t.test('names the header by which long work is waited for', async (t) => {
    const named = operationsOf(document).filter(({ parameters }) =>
      parameters?.some(({ name }) => name === 'prefer'),
    )
    t.ok(named.length > 15, `${named.length} operations`)
  })

  t.test('shows a conflict with the resource that is in the way', async (t) => {
    const { key } = await service.makeOrganization()
    const check = openChecker(document)
    for (const [path, body] of [
      ['/datasets', { name: 'taken', dataset_type: 'sft' }],
      ['/workspaces', { name: 'taken' }],
    ] as const) {
      await service.client(key).post(path, body)
      const again = await service.client(key).post(path, body)
      t.match(again, { status: 409, body: { code: 'conflict', detail: { resource: {} } } })
      const described = document.paths[`/api/v1${path}`]?.['post']
      const documented = described && answerOf(document, described, 409)
      const schema = documented?.content?.['application/json']?.schema
      t.equal(schema && check(schema, again.body), '', path)
    }
  })

  t.test('has one schema for each label', async (t) => {
    const names = Object.keys(document.components.schemas)
    t.same(
      names.filter((name) => /\d$/.test(name) && names.includes(name.replace(/\d$/, ''))),
      [],
      'another schema has the same label',
    )
  })

  t.test('names every operation, and what it takes to call it', async (t) => {
    const described = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const ids = described.map(({ operationId }) => operationId)
    t.equal(new Set(ids).size, ids.length)
    for (const { operationId, security, responses } of described) {
      const isLimited = security?.length !== 0 || /Webhook/.test(operationId)
      t.equal(responses[429] !== undefined, isLimited, operationId)
    }
    for (const path of [
      'traces',
      'traces/batch',
      'datasets/{dataset_id}/build',
      'regression-check',
    ]) {
      t.ok(document.paths[`/api/v1/${path}`]?.['post']?.responses[402], `${path} is metered`)
    }
    t.same(document.paths['/api/v1/traces/skill-rater/config']?.['get']?.security?.[0], {})
  })

  t.test('spells canceled one way', async (t) => {
    const sentences = response.payload.match(/"(?:summary|description)":"[^"]*"/g) ?? []
    t.ok(sentences.length > 100)
    t.same(
      sentences.filter((sentence) => /cancelled/i.test(sentence)),
      [],
    )
  })

  t.test('shows an example of every body, which would be accepted', async (t) => {
    const schemas = new Schemas()
    for (const { method, path, body } of operations) {
      if (!body || 'stream' in body) continue
      const isRead = 'read' in body
      const described = schemas.describe(isRead ? body.documented : body)
      const name = String(described['$ref']).split('/').at(-1) as string
      const { example } = schemas.components[name] ?? described
      t.ok(example, `${method} ${path} has one`)
      const result = isRead
        ? await body.read(asRead(example, body), { now: new Date(), contentForm: 'shared' })
        : body.validate(example)
      t.notOk('faults' in result ? result.faults : 'error' in result && result.error, path)
    }
  })

  t.test('bounds every list that a request can have', async (t) => {
    let lists = 0
    function look(schema: Schema, where: string, seen: ReadonlySet<string>) {
      if (schema.$ref) {
        if (seen.has(schema.$ref)) return
        const named = document.components.schemas[schema.$ref.split('/').at(-1) as string]
        return look(named as Schema, where, new Set([...seen, schema.$ref]))
      }
      if (schema.type === 'array') {
        lists++
        t.type(schema.maxItems, 'number', where)
      }
      for (const [name, each] of Object.entries(schema.properties ?? {})) {
        look(each, `${where}.${name}`, seen)
      }
      const { items, additionalProperties: members } = schema
      if (items) look(items, `${where}[]`, seen)
      if (typeof members === 'object') look(members, `${where}.*`, seen)
      for (const each of [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) look(each, where, seen)
    }
    for (const methods of Object.values(document.paths)) {
      for (const { operationId, requestBody } of Object.values(methods)) {
        for (const { schema } of Object.values(requestBody?.content ?? {})) {
          look(schema, operationId, new Set())
        }
      }
    }
    t.ok(lists > 20, `${lists} lists`)
  })

  t.test('is browsable, and found from the bare address', async (t) => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    for (const [accept, location] of [
      [undefined, '/docs'],
      ['*/*', '/docs'],
      ['application/json, text/html;q=0.5', '/docs'],
      ['text/html;q=0, */*', '/docs'],
      [browser, '/console'],
      ['text/html', '/console'],
    ] as const) {
      const answer = await server.inject({ url: '/', headers: accept ? { accept } : {} })
      t.match(
        answer,
        { statusCode: 302, headers: { location, vary: /accept\b/i } },
        accept ?? 'none',
      )
    }
    const page = await server.inject({ url: '/docs' })
    t.equal(page.statusCode, 200)
    t.match(page.payload, /swagger/i)
    for (const [, path] of page.payload.matchAll(/(?:src|href)="([^"]+)"/g)) {
      t.equal((await server.inject({ url: path as string })).statusCode, 200, path ?? '')
    }
  })
})

function operationsOf({ paths }: Document) {
  return Object.values(paths).flatMap((methods) => Object.values(methods))
}

/** A value as the reader of a body gets it from a request. */
function asRead(value: unknown, { apart }: CheckedBody<unknown>) {
  const pieces = parseInPieces(Buffer.from(JSON.stringify(value)), apart)
  for (;;) {
    const { done, value } = pieces.next()
    if (done) return value
  }
}
