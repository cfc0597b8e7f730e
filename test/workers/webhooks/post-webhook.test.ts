import t from 'tap'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { parseNetworks } from '../../../jobs/rules/core/outbound-address.ts'
import { guardedAgents } from '../../../workers/outbound/guarded-agent.ts'
import { postWebhook } from '../../../workers/webhooks/post-webhook.ts'
import { makeCertificate, startReceiver } from '../../support/receiver.ts'
import { recordSpans } from '../../support/spans.ts'

const LOOPBACK = parseNetworks('127.0.0.0/8')
const BODY = Buffer.from('{"event":"test"}')

t.test('one attempt at a receiver', async (t) => {
  const { url, ca, received } = await startReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca })
  t.teardown(() => agents.destroy())
  const post = (path: string) => postWebhook(agents, `${url}${path}`, BODY, { 'x-test': '1' })

  t.test('is delivered by any 2xx', async (t) => {
    t.match(await post('/200'), { status_code: 200, error: null, response_excerpt: 'answer 200' })
    t.match(await post('/204'), { status_code: 204, error: null, response_excerpt: '' })
  })

  t.test('sends the bytes and headers it was given and no others of its own choice', async (t) => {
    await post('/200')
    const last = received.at(-1)
    t.same(last?.body, BODY)
    t.match(last?.headers, { 'x-test': '1', 'content-length': String(BODY.length) })
    t.notOk(last?.headers['accept-encoding'])
    t.notOk(last?.headers['cookie'])
  })

  t.test('has a span without the address, of which the receiver hears nothing', async (t) => {
    const spans = recordSpans()
    await post('/200?token=SECRET')
    await post('/500')
    t.match(spans.getFinishedSpans(), [
      { name: 'POST', attributes: { 'server.address': '127.0.0.1' }, status: { code: 0 } },
      { name: 'POST', attributes: { 'error.type': 'http_status' }, status: { code: 2 } },
    ])
    t.notMatch(JSON.stringify(spans.getFinishedSpans().map((span) => span.attributes)), 'SECRET')
    t.notOk(received.at(-1)?.headers['traceparent'])
  })

  t.test('fails by any other status, and follows no redirect', async (t) => {
    t.match(await post('/400'), { status_code: 400, error: 'http_status' })
    t.match(await post('/500'), { status_code: 500, error: 'http_status' })
    t.match(await post('/410'), { status_code: 410, error: 'http_status' })
    t.match(await post('/429'), { error: 'http_status', retryAfterSeconds: 2 })
    const before = received.length
    t.match(await post('/redirect'), { status_code: 307, error: 'redirect' })
    t.equal(received.length, before + 1)
  })

  t.test('ends within five seconds whatever the receiver does', async (t) => {
    const [headers, body, endless] = await Promise.all([
      post('/slow-headers'),
      post('/slow-body'),
      post('/endless'),
    ])
    t.match(headers, { status_code: null, error: 'timeout' })
    t.match(body, { status_code: 200, error: null }, 'the status came in time')
    t.match(endless, { status_code: 200, error: null })
    t.ok((endless.response_excerpt?.length ?? 0) <= 4096)
    for (const { duration_ms } of [headers, body, endless])
      t.ok(duration_ms < 60_000, `${duration_ms}`)
  })

  t.test('tells a reset, a closed port and a wrong certificate apart', async (t) => {
    t.match(await post('/reset'), { error: 'connection_reset' })
    t.match(await postWebhook(agents, 'https://127.0.0.1:1/', BODY, {}), {
      error: 'connection_refused',
    })
    const strict = guardedAgents(LOOPBACK)
    t.match(await postWebhook(strict, `${url}/200`, BODY, {}), { error: 'tls_error' })
  })

  t.test('is not made again when the receiver reads it and resets the connection', async (t) => {
    const before = received.length
    await post('/200')
    t.match(await post('/reset'), { status_code: null, error: 'connection_reset' })
    t.same(
      received.slice(before).map(({ path }) => path),
      ['/200', '/reset'],
    )
  })
})

t.test('a connection that the receiver keeps is not used again', async (t) => {
  const receiver = await startKeepingReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca: receiver.ca })
  t.teardown(() => agents.destroy())
  const post = (id: string) => postWebhook(agents, receiver.url, BODY, { 'x-service-event-id': id })
  for (const id of ['first', 'second', 'third']) t.match(await post(id), { error: null })
  t.same(receiver.ids, ['first', 'second', 'third'], 'each is read once')
})

t.test('no packet reaches a private address', async (t) => {
  let connections = 0
  const canary = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((resolve) => canary.listen(0, resolve))
  t.teardown(() => new Promise((resolve) => canary.close(resolve)))
  const { port } = canary.address() as AddressInfo

  const names: Record<string, string[]> = {
    'loop.test': ['127.0.0.1'],
    'mixed.test': ['93.184.215.14', '127.0.0.1'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'six.test': ['::1'],
    'meta.test': ['169.254.169.254'],
  }
  const agents = guardedAgents([], { resolve: async (name) => names[name] ?? [] })
  const literals = `127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0 0.0.0.0 [::1] [::] [::ffff:127.0.0.1]
    [64:ff9b::7f00:1] [fd00:ec2::254] [fe80::1] 169.254.169.254 168.63.129.16 10.0.0.5`
  for (const host of [...literals.split(/\s+/), ...Object.keys(names)]) {
    const result = await postWebhook(agents, `https://${host}:${port}/`, BODY, {})
    t.match(result, { status_code: null, error: 'blocked_address' }, host)
  }
  t.match(await postWebhook(agents, `https://unknown.test:${port}/`, BODY, {}), {
    error: 'dns_error',
  })
  t.equal(connections, 0)
})

t.test('a name that resolves anew to a private address is refused at the connection', async (t) => {
  let asked = 0
  const agents = guardedAgents([], {
    resolve: async () => [asked++ === 0 ? '192.0.2.1' : '127.0.0.1'],
  })
  t.match(await postWebhook(agents, 'https://rebind.test/', BODY, {}), { error: 'blocked_address' })
  t.match(await postWebhook(agents, 'https://rebind.test/', BODY, {}), { error: 'blocked_address' })
  t.equal(asked, 2, 'each connection looks up once and dials that answer')
})

/**
 * A TLS receiver that answers the first request of a connection and keeps the connection. It reads any
 * further request of it whole and then resets it.
 */
async function startKeepingReceiver(t: Test) {
  const { key, ca } = await makeCertificate()
  const context = createSecureContext({ key, cert: ca })
  const ids: string[] = []
  const server = createServer((socket) => {
    const secured = new TLSSocket(socket, { isServer: true, secureContext: context })
    let requests = 0
    let text = ''
    socket.on('error', () => undefined)
    secured.on('error', () => undefined)
    secured.on('data', (bytes: Buffer) => {
      text += bytes.toString()
      if (!text.endsWith(BODY.toString())) return
      ids.push(/^x-service-event-id: (.*)$/im.exec(text)?.[1] ?? '')
      text = ''
      if (++requests > 1) socket.resetAndDestroy()
      else secured.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}/`, ca, ids }
}
