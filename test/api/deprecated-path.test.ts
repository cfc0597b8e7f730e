import t from 'tap'
import { endpoint } from '../../api/endpoint.ts'
import { describeInterface } from '../../api/openapi.ts'
import { shape, text } from '../../jobs/shape.ts'
import { openService } from '../support/service.ts'

const showThing = endpoint('GET', '/things/{name}/parts/{part}', {
  summary: 'Show a thing',
  access: 'key',
  params: shape({ name: text(8), part: text() }),
  aliases: [
    '/items/{name}/parts/{part}',
    { path: '/old/{name}/parts/{part}', deprecatedSince: new Date('2026-11-23T00:00:00.500Z') },
  ],
  answers: {},
  handle: async ({ params }) => Promise.resolve({ shown: params.name }),
})

t.test('a deprecated path', async (t) => {
  const { server, makeOrganization } = await openService(t, { operations: [showThing] })
  const { key } = await makeOrganization()
  const get = async (url: string, authorization = `Bearer ${key}`) =>
    server.inject({ url: `/api/v1${url}`, headers: { authorization } })

  t.test('answers as its successor, which it names', async (t) => {
    const { statusCode, payload, headers } = await get('/old/a%2Fb%20%3E/parts/%C3%A9')
    t.equal(statusCode, 200)
    t.equal(payload, '{"shown":"a/b >"}')
    t.match(headers, {
      deprecation: '@1795392000',
      link: '</api/v1/things/a%2Fb%20%3E/parts/%C3%A9>; rel="successor-version"',
      'x-request-id': String,
    })
  })

  t.test('names it with an error as well', async (t) => {
    for (const refused of [get('/old/much-too-long/parts/p'), get('/old/a/parts/p', 'Bearer x')]) {
      const { statusCode, headers } = await refused
      t.match(statusCode, /^4/)
      t.match(headers, { deprecation: '@1795392000', link: /successor-version/ })
    }
  })

  t.test('is no other path of the operation', async (t) => {
    for (const path of ['/things/a/parts/p', '/items/a/parts/p']) {
      const { statusCode, headers } = await get(path)
      t.equal(statusCode, 200)
      t.notOk('deprecation' in headers || 'link' in headers, path)
    }
  })

  t.test('is marked in the OpenAPI document', async (t) => {
    const { paths } = (await describeInterface([showThing], '1')) as {
      paths: Record<string, { get: { deprecated?: boolean } }>
    }
    t.same(
      Object.entries(paths).map(([path, { get }]) => [path, get.deprecated]),
      [
        ['/api/v1/things/{name}/parts/{part}', undefined],
        ['/api/v1/items/{name}/parts/{part}', undefined],
        ['/api/v1/old/{name}/parts/{part}', true],
      ],
    )
  })
})
