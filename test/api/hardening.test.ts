import t from 'tap'
import { once } from 'node:events'
import { connect } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { endpoint } from '../../api/endpoint.ts'
import { openService } from '../support/service.ts'

t.test('a hostile client', async (t) => {
  const connections = { max: 10_000, maxPerAddress: 1000 }
  const service = await openService(t, { connections })
  await service.server.start()
  const port = Number(service.server.info.port)
  const { key, orgId } = await service.makeOrganization()
  const head = (line: string, ...headers: string[]) =>
    [`${line} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${key}`, ...headers, '', ''].join('\r\n')
  const postKeys = (...headers: string[]) =>
    head('POST /api/v1/api-keys', 'Content-Type: application/json', ...headers)

  t.test('that is slow is ended in time', async (t) => {
    const patience = { headersMs: 500, bodyMs: 2000, uploadCheckMs: 500 }
    const { server } = await openService(t, { url: service.url, patience })
    await server.start()
    const cases: [string, string, string?][] = [
      ['sends nothing', ''],
      ['never ends its headers', 'GET /api/v1/jobs HTTP/1.1\r\nHost: a\r\nX-A: ', 'a'],
      ['sends its body byte by byte', postKeys('Content-Length: 1000'), ' '],
      ['never sends its body', postKeys('Content-Length: 1000')],
    ]
    await Promise.all(
      cases.map(async ([name, text, drip]) => {
        const { text: answer } = await talk(Number(server.info.port), text, drip)
        t.match(
          answer,
          /^HTTP\/1\.1 408 .*"code":"request_timeout"/s,
          `and is told so, who ${name}`,
        )
      }),
    )
  })

  t.test('with 500 idle sockets does not keep others from being served', async (t) => {
    const sockets = Array.from({ length: 500 }, () => connect(port, '127.0.0.1'))
    let closed = 0
    for (const socket of sockets) socket.on('error', () => undefined).on('close', () => closed++)
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        fetch(`http://127.0.0.1:${port}/api/v1/jobs`, {
          headers: { authorization: `Bearer ${key}` },
        }),
      ),
    )
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    t.equal(closed, 0, 'all before an idle one was ended')
    sockets.forEach((socket) => socket.destroy())
  })

  t.test('that announces too long a body is answered at once', async (t) => {
    const { text } = await talk(port, postKeys('Content-Length: 2000000000'))
    t.match(text, /^HTTP\/1\.1 413 /)
    t.match(text, /"code":"payload_too_large"/)
    t.match(text, /^connection: close/im)
  })

  t.test('without a key is answered before its body comes', async (t) => {
    const { text } = await talk(
      port,
      'POST /api/v1/api-keys HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    )
    t.match(text, /^HTTP\/1\.1 401 /)
  })

  t.test('that sends chunks without end is stopped at the limit', async (t) => {
    const before = process.memoryUsage().rss
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const { text, sentBytes } = await talk(port, postKeys('Transfer-Encoding: chunked'), chunk)
    t.match(text, /^HTTP\/1\.1 413 /)
    t.ok(sentBytes < 32 << 20, `${sentBytes} bytes sent`)
    t.ok(process.memoryUsage().rss - before < 128 << 20)
  })

  t.test('that sends a compression bomb is stopped at the limit', async (t) => {
    const bomb = Buffer.alloc(200 << 20, '[')
    for (const [encoding, body] of [
      ['gzip', gzipSync(bomb)],
      ['deflate', deflateSync(bomb)],
    ] as const) {
      const before = process.memoryUsage().rss
      const response = await postRaw(port, key, body, { 'content-encoding': encoding })
      t.equal(response.status, 413, encoding)
      t.ok(process.memoryUsage().rss - before < 64 << 20, 'and the memory stays flat')
    }
  })

  t.test('that compresses what is small is welcome', async (t) => {
    const body = gzipSync(JSON.stringify({ label: 'zipped', scope: 'global' }))
    t.equal((await postRaw(port, key, body, { 'content-encoding': 'gzip' })).status, 201)
    const broken = await postRaw(port, key, Buffer.from('no gzip'), { 'content-encoding': 'gzip' })
    t.equal(broken.status, 400)
  })

  t.test('with deep or wide JSON gets 422', async (t) => {
    const deep = `{"label":${'['.repeat(500_000)}${']'.repeat(500_000)}}`
    t.match(await postJson(port, key, deep), { status: 422, body: { code: 'validation_error' } })
    const wide = `{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`).join(',')}}`
    t.match(await postJson(port, key, wide), { status: 422 })
  })

  t.test('with malformed JSON gets 400 in the one error shape', async (t) => {
    const bodies: [string, string | Uint8Array][] = [
      ['half an object', '{"label":'],
      ['a byte order mark', '\ufeff{"label":"x","scope":"global"}'],
      ['bytes that are not UTF-8', Buffer.from('{"label":"\xff","scope":"global"}', 'latin1')],
      ['__proto__', '{"__proto__":{"label":"x"},"scope":"global"}'],
      ['an escaped __proto__', '{"\\u005f_proto__":{"label":"x"},"scope":"global"}'],
      ['a nested __proto__', '{"label":"x","scope":"global","a":[{"__proto__":1}]}'],
    ]
    for (const [name, body] of bodies) {
      t.match(
        await postJson(port, key, body),
        { status: 400, body: { code: 'bad_request', detail: String, request_id: String } },
        name,
      )
    }
    const type = await postRaw(port, key, Buffer.from('{}'), { 'content-type': 'text/plain' })
    t.equal(type.status, 400)
  })

  t.test('cannot poison a prototype', async (t) => {
    const body = '{"label":"c","scope":"global","constructor":{"prototype":{"label":"x"}}}'
    t.equal((await postJson(port, key, body)).status, 201)
    const query = await service.client(key).get('/jobs?__proto__[limit]=1&constructor=1&limit=2')
    t.match(query, { status: 200, body: { limit: 2 } })
    t.equal(({} as Record<string, unknown>)['label'], undefined)
  })

  t.test('with malformed HTTP gets the one error shape', async (t) => {
    const requests: [string, string][] = [
      ['no HTTP', 'hello\r\n\r\n'],
      ['headers of 20 KB', head('GET /api/v1/jobs', `X-A: ${'a'.repeat(20_000)}`)],
      ['two lengths', postKeys('Content-Length: 2', 'Content-Length: 3')],
      ['a length and chunks', postKeys('Content-Length: 2', 'Transfer-Encoding: chunked')],
    ]
    for (const [name, request] of requests) {
      const { text } = await talk(port, request)
      t.match(text, /^HTTP\/1\.1 400 /, name)
      t.match(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))), {
        code: 'bad_request',
        detail: String,
        request_id: String,
      })
      t.match(text, /^x-request-id: /im)
    }
  })

  t.test('with what Postgres refuses gets no 500', async (t) => {
    const client = service.client(key)
    for (const path of [
      '/jobs/%00',
      '/jobs?project=%00',
      '/jobs?kind=%00',
      '/%00',
      '/api-keys/%',
    ]) {
      t.match((await client.get(path)).status, /^(400|404|422)$/, path)
    }
    const nul = await client.post('/workspaces', { name: 'a\0b' })
    t.equal(nul.status, 422)
    const lone = await client.post('/workspaces', { name: 'a\ud800b' })
    t.equal(lone.status, 422)
    const body = `{"label":"x","scope":"global","expires_at":1e200000}`
    t.equal((await postJson(port, key, body)).status, 422)
  })

  t.test('by an agent that nobody could have finds nothing', async (t) => {
    const client = service.client(key)
    for (const agent of ['%00', 'a'.repeat(257), '']) {
      for (const path of [
        '/traces',
        '/traces/stats',
        '/traces/eval/stats',
        '/traces/eval/histogram',
        '/eval-scores/aggregate',
        '/regression-check',
        '/manifests',
        '/decision-policy',
        '/decision-policy/versions',
      ]) {
        t.equal((await client.get(`${path}?agent_name=${agent}`)).status, 200, path)
      }
    }
  })

  t.test('with 200 bad times at once leaves the pool answering', async (t) => {
    const client = service.client(key)
    const bad = await Promise.all(
      Array.from({ length: 200 }, () => client.get('/jobs?created_after=garbage')),
    )
    t.ok(bad.every(({ status }) => status === 422))
    const good = await Promise.all(Array.from({ length: 40 }, () => client.get('/jobs')))
    t.ok(good.every(({ status }) => status === 200))
  })

  t.test('cannot set what is not its to set', async (t) => {
    const other = await service.makeOrganization()
    const { status, body } = await service.client(key).post('/api-keys', {
      label: 'mass',
      scope: 'global',
      permissions: 'read',
      org_id: other.orgId,
      id: other.keyId,
      key_hash: 'x',
      created_at: '2001-01-01T00:00:00Z',
      revoked_at: null,
      plan: 'enterprise',
    })
    t.equal(status, 201)
    t.not(body.id, other.keyId)
    t.notMatch(body.created_at, /^2001/)
    const [row] = await service.sql`select org_id from api_keys where id = ${body.id}`
    t.equal(row?.['org_id'], orgId)
  })

  t.test('cannot put lines into the log or forge a request id', async (t) => {
    for (const id of ['a b', 'x'.repeat(65), 'ä', '{}']) {
      const answer = await service.client(key).get('/jobs', { 'x-request-id': id })
      t.match(answer.headers['x-request-id'], /^[0-9a-f-]{36}$/)
    }
  })
})

t.test('every answer', async (t) => {
  const service = await openService(t)
  const { key } = await service.makeOrganization()

  t.test('carries security headers and no leave for other origins', async (t) => {
    for (const path of ['/jobs', '/nowhere', '//livez']) {
      const { headers } = await service.client(key).get(path, { origin: 'https://evil.example' })
      t.match(headers, {
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-request-id': String,
      })
      t.equal(headers['access-control-allow-origin'], undefined)
      t.equal(headers['server'], undefined)
    }
    const preflight = await service.server.inject({
      method: 'OPTIONS',
      url: '/api/v1/jobs',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
    })
    t.equal(preflight.statusCode, 405)
    t.equal(preflight.headers['access-control-allow-origin'], undefined)
  })

  t.test('to a fault of ours says nothing of it', async (t) => {
    const broken = endpoint('GET', '/broken', {
      summary: 'Throws',
      access: 'public',
      answers: {},
      handle: async () => {
        throw new TypeError('secret path /etc/x of column y')
      },
    })
    const { server } = await openService(t, { operations: [broken] })
    const answer = await server.inject({ url: '/api/v1/broken' })
    t.equal(answer.statusCode, 500)
    t.same(JSON.parse(answer.payload), {
      detail: 'Internal server error',
      code: 'internal_error',
      request_id: answer.headers['x-request-id'],
    })
  })
})

/** Sends a text and, until the connection ends, `drip` again and again; returns what came back. */
async function talk(port: number, text: string, drip?: string) {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  let sentBytes = 0
  socket.on('data', (data) => {
    answer += data.toString()
  })
  socket.on('error', () => undefined)
  socket.write(text)
  const dripping = drip === undefined ? undefined : setInterval(send, drip.length > 1000 ? 1 : 50)
  function send() {
    // Chunks are sent as fast as they are taken, single bytes slowly.
    if (!socket.writable || socket.writableNeedDrain) return
    socket.write(drip as string)
    sentBytes += (drip as string).length
  }
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(dripping)
  return { text: answer, sentBytes }
}

async function postRaw(
  port: number,
  key: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
) {
  return fetch(`http://127.0.0.1:${port}/api/v1/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body as never,
  })
}

async function postJson(port: number, key: string, body: string | Uint8Array) {
  const response = await postRaw(port, key, Buffer.from(body))
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
