import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { PATIENCE } from '../../../api/listener.ts'
import { exportBytes, exportRequest, spanId, traceId } from '../../support/otlp.ts'
import type { GivenSpan } from '../../support/otlp.ts'
import { otlpClient } from '../../support/otlp-client.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const service = await openService(t)
const TRACE = traceId(1)
const SPAN: GivenSpan = { trace: TRACE, id: spanId(1) }
/** Members that are undefined here may not be there. */
const ALL_TAKEN = {
  status: 200,
  body: { partialSuccess: { rejectedSpans: undefined, errorMessage: undefined } },
}
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

t.test('a credential', async (t) => {
  const { key } = await service.makeOrganization()
  const { send } = otlpClient(service, key)

  t.test('of a megabyte, and one without a password, are none', async (t) => {
    const megabyte = 'x'.repeat(1 << 20)
    for (const text of [
      `u:${megabyte}`,
      `u:${key}${megabyte}`,
      `${megabyte}:${key}`,
      'u:',
      'u',
      ':',
      '',
    ]) {
      const answer = await send('{}', { headers: { authorization: basic(text) } })
      t.match(answer, { status: 401, body: { code: 16, message: 'Malformed API key' } })
    }
  })
})

t.test('another method than POST is not taken', async (t) => {
  const { key } = await service.makeOrganization()
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
    for (const url of ['/v1/traces', '/api/public/otel/v1/traces']) {
      const headers = { authorization: `Bearer ${key}` }
      const { statusCode, headers: answered } = await service.server.inject({
        method,
        url,
        headers,
      })
      t.equal(statusCode, 405, `${method} ${url}`)
      t.match(answered, { allow: 'POST' })
    }
  }
})

t.test('a body', async (t) => {
  const { key } = await service.makeOrganization()
  const { send } = otlpClient(service, key)

  t.test('whose chunks do not end is answered in time', async (t) => {
    const patience = { ...PATIENCE, bodyMs: 1000 }
    const { server } = await openService(t, { url: service.url, patience })
    await server.start()
    const port = Number(server.info.port)
    for (const type of ['application/json', 'application/x-protobuf']) {
      const text = await talk(port, [
        'POST /v1/traces HTTP/1.1',
        'Host: a',
        `Authorization: Bearer ${key}`,
        `Content-Type: ${type}`,
        'Transfer-Encoding: chunked',
        '',
        '1\r\n{\r\n',
      ])
      t.match(text, /^HTTP\/1\.1 408 /)
      t.match(text.toLowerCase(), `content-type: ${type}`)
    }
  })

  t.test('in an unknown encoding, and one that is not in its encoding, is refused', async (t) => {
    for (const encoding of ['br', 'zstd', 'gzip, gzip', 'gzip']) {
      for (const body of ['{}', Buffer.alloc(8)]) {
        const answer = await send(body, { headers: { 'content-encoding': encoding } })
        const type = Buffer.isBuffer(body) ? 'application/x-protobuf' : 'application/json'
        t.match(answer, { status: 400, type }, encoding)
      }
    }
  })

  t.test('that is a bomb is refused', async (t) => {
    for (const type of ['application/json', 'application/x-protobuf']) {
      const headers = { 'content-type': type, 'content-encoding': 'gzip' }
      t.match(await send(BOMB, { headers }), { status: 413, type })
    }
  })
})

t.test('a span', async (t) => {
  t.test('of a time that is none is taken without it', async (t) => {
    const { client, send } = await makeSender()
    const times = ['31556952000000000000000000', '-1', 'x', 1e300, {}, [5], true]
    for (const [n, time] of [...times, '0', '9223372036854775807'].entries()) {
      const trace = traceId(n + 1)
      const span = { ...spanOf({ trace, id: spanId(1) }), startTimeUnixNano: time }
      const { status, body } = await send(requestOf([{ ...span, endTimeUnixNano: time }]))
      t.equal(status, 200)
      t.notOk(body.partialSuccess.rejectedSpans)
      const isLoss = n < times.length
      t.equal(/time/i.test(body.partialSuccess.errorMessage), isLoss, `${JSON.stringify(time)}`)
      const started_at = n <= times.length ? null : '2262-04-11T23:47:16.854775807Z'
      t.match((await client.get(`/traces/${trace}`)).body, {
        span_count: 1,
        spans: [{ started_at }],
      })
    }
    t.equal((await client.get('/traces')).body.total, times.length + 2)
  })

  t.test('is tied to a manifest of its own project only', async (t) => {
    const { org, client, send } = await makeSender()
    const other = service.client((await service.makeOrganization()).key)
    const own = await makeManifest(client)
    await client.post('/traces', { trace_id: 'first', project: 'other' })
    const elsewhere = await makeManifest(client, { project: 'other' })
    const ids = [
      own,
      elsewhere,
      await makeManifest(other),
      'nobody',
      org.projectId,
      'x'.repeat(5000),
    ]
    for (const [n, id] of ids.entries()) {
      const span = { ...SPAN, trace: traceId(n + 1), attributes: { manifest_id: id } }
      const { status, body } = await send(exportRequest([span]))
      t.equal(status, 200)
      t.notOk(body.partialSuccess.rejectedSpans)
      const trace = (await client.get(`/traces/${span.trace}`)).body
      t.match(trace, { span_count: 1, manifest_id: n === 0 ? own : null })
      t.match(trace.spans, [{ attributes: { manifest_id: id } }], 'what it said is kept')
    }
  })

  t.test('may have attributes by any name', async (t) => {
    const { client, send } = await makeSender()
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '',
      'a\u0000b',
      '\ud800',
      '__proto__.polluted',
      'metadata.__proto__',
      'langfuse.__proto__.role',
    ]
    const value = { kvlistValue: { values: [text('__proto__'), text('polluted')] } }
    const span = { ...spanOf(SPAN), attributes: names.map((key) => ({ key, value })) }
    t.match(await send(requestOf([span])), ALL_TAKEN)
    t.notOk('polluted' in {})
    const { spans } = (await client.get(`/traces/${TRACE}`)).body
    const kept = new Map<string, unknown>(Object.entries(spans[0].attributes))
    for (const name of names) {
      t.same(kept.get(name), JSON.parse('{"__proto__":"yes","polluted":"yes"}'), name)
    }
  })

  t.test('may have such names where its dialect has paths', async (t) => {
    const { client, send } = await makeSender()
    const names = [
      'llm.input_messages.__proto__.message.role',
      'llm.input_messages.0.message.__proto__.polluted',
      'llm.input_messages.constructor.prototype.polluted',
      'gen_ai.prompt.__proto__.role',
      'gen_ai.prompt.constructor.prototype.polluted',
      'langfuse.trace.metadata.__proto__.polluted',
    ]
    const attributes = [...names.map((name) => text(name)), text('openinference.span.kind', 'LLM')]
    const answer = await send(requestOf([{ ...spanOf(SPAN), attributes }]))
    t.equal(answer.status, 200)
    t.notOk(answer.body.partialSuccess.rejectedSpans)
    t.notOk('polluted' in {} || 'polluted' in (Function.prototype as object))
    t.match((await client.get(`/traces/${TRACE}`)).body, { span_count: 1 })
  })

  t.test('that comes 10,000 times in a request is one', async (t) => {
    const { client, send } = await makeSender()
    const spans = Array.from({ length: 10_000 }, (_, n) => ({ ...SPAN, to: 1 + (n % 7) }))
    t.match(await send(exportRequest(spans)), ALL_TAKEN)
    t.match((await client.get(`/traces/${TRACE}`)).body, { span_count: 1, duration_ms: 7000 })
  })

  t.test('may be its own parent, or of a cycle', async (t) => {
    const { client, send } = await makeSender()
    const cycle = (length: number) =>
      Array.from({ length }, (_, n) => ({
        trace: traceId(length),
        id: spanId(n + 1),
        parent: spanId(((n + 1) % length) + 1),
        from: n,
      }))
    t.match(await send(exportRequest(cycle(1))), {
      status: 200,
      body: { partialSuccess: { rejectedSpans: undefined, errorMessage: /another span/ } },
    })
    t.match(await send(exportRequest([2, 5000].flatMap(cycle))), ALL_TAKEN)
    for (const length of [1, 2, 5000]) {
      const { body } = await client.get(`/traces/${traceId(length)}`)
      t.match(body, { span_count: length, status: length === 1 ? 'success' : 'running' })
    }
  })
})

t.test('the header X-Project', async (t) => {
  t.test('that names no project is refused', async (t) => {
    const { client, send } = await makeSender()
    const unknown = '00000000-0000-4000-8000-000000000000'
    for (const [project, status] of [
      ['', 400],
      ['x'.repeat(10_000), 400],
      [unknown, 404],
    ] as const) {
      const answer = await send(exportRequest([SPAN]), { headers: { 'x-project': project } })
      t.match(answer, { status, body: { code: status === 400 ? 3 : 5 } })
    }
    t.equal((await client.get('/traces')).body.total, 0)
  })

  t.test('of a project that the key may not use is refused', async (t) => {
    const { org, client } = await makeSender()
    const { raw } = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const other = await service.makeOrganization()
    const own = otlpClient(service, raw)
    for (const project of ['other', other.projectId]) {
      const headers = { 'x-project': project }
      const answer = await own.send(exportRequest([SPAN]), { headers })
      t.match(answer, { status: 403, body: { code: 7, error: 'forbidden' } })
      const bytes = exportBytes(exportRequest([SPAN]))
      t.match(await own.send(bytes, { headers }), { status: 403, type: 'application/x-protobuf' })
    }
    t.equal((await client.get('/traces')).body.total, 0)
  })
})

async function makeSender() {
  const org = await service.makeOrganization()
  return { org, client: service.client(org.key), ...otlpClient(service, org.key) }
}

async function makeManifest(client: Client, more: object = {}): Promise<string> {
  const components = [{ type: 'tool', name: 'search' }]
  const manifest = { agent_name: 'shop', components, ...more }
  const { status, body } = await client.post('/manifests', manifest)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.manifest_id
}

/** What comes back until the connection ends. */
async function talk(port: number, lines: readonly string[]) {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => {
    answer += data.toString()
  })
  socket.on('error', () => undefined)
  socket.write(lines.join('\r\n'))
  await once(socket, 'close')
  return answer
}

function spanOf(span: GivenSpan) {
  const [made] = exportRequest([span]).resourceSpans[0]?.scopeSpans[0]?.spans ?? []
  return made
}

function requestOf(spans: readonly unknown[]) {
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] }
}

const text = (key: string, stringValue = 'yes') => ({ key, value: { stringValue } })

/** 200 MiB in 200 KiB. */
const BOMB = gzipSync(Buffer.alloc(200 << 20, ' '))

type Client = ReturnType<typeof service.client>
