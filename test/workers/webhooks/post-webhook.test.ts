import t from 'tap'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { parseNetworks } from '../../../jobs/rules/core/outbound-address.ts'
import { guardedAgent } from '../../../workers/webhooks/guarded-agent.ts'
import { postWebhook } from '../../../workers/webhooks/post-webhook.ts'
import { startReceiver } from '../../support/receiver.ts'

const LOOPBACK = parseNetworks('127.0.0.0/8')
const BODY = Buffer.from('{"event":"test"}')

t.test('one attempt at a receiver', async (t) => {
  const { url, ca, received } = await startReceiver(t)
  const agent = guardedAgent(LOOPBACK, { ca })
  t.teardown(() => agent.destroy())
  const post = (path: string) => postWebhook(agent, `${url}${path}`, BODY, { 'x-test': '1' })

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
      t.ok(duration_ms < 8000, `${duration_ms}`)
  })

  t.test('tells a reset, a closed port and a wrong certificate apart', async (t) => {
    const fresh = guardedAgent(LOOPBACK, { ca, keepAlive: false })
    t.match(await postWebhook(fresh, `${url}/reset`, BODY, {}), { error: 'connection_reset' })
    t.match(await postWebhook(fresh, 'https://127.0.0.1:1/', BODY, {}), {
      error: 'connection_refused',
    })
    const strict = guardedAgent(LOOPBACK)
    t.match(await postWebhook(strict, `${url}/200`, BODY, {}), { error: 'tls_error' })
  })

  t.test(
    'is made once more when a kept-alive connection had gone stale, and only then',
    async (t) => {
      const before = received.length
      await post('/200')
      t.match(await post('/reset'), { error: 'connection_reset' })
      const resets = received.slice(before).filter(({ path }) => path === '/reset')
      t.ok(resets.length <= 2)
      const fresh = guardedAgent(LOOPBACK, { ca, keepAlive: false })
      const count = received.length
      await postWebhook(fresh, `${url}/reset`, BODY, {})
      t.equal(received.length, count + 1)
    },
  )
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
  const agent = guardedAgent([], { resolve: async (name) => names[name] ?? [] })
  const literals = `127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0 0.0.0.0 [::1] [::] [::ffff:127.0.0.1]
    [64:ff9b::7f00:1] [fd00:ec2::254] [fe80::1] 169.254.169.254 168.63.129.16 10.0.0.5`
  for (const host of [...literals.split(/\s+/), ...Object.keys(names)]) {
    const result = await postWebhook(agent, `https://${host}:${port}/`, BODY, {})
    t.match(result, { status_code: null, error: 'blocked_address' }, host)
  }
  t.match(await postWebhook(agent, `https://unknown.test:${port}/`, BODY, {}), {
    error: 'dns_error',
  })
  t.equal(connections, 0)
})

t.test('a name that resolves anew to a private address is refused at the connection', async (t) => {
  let asked = 0
  const agent = guardedAgent([], {
    resolve: async () => [asked++ === 0 ? '192.0.2.1' : '127.0.0.1'],
  })
  t.match(await postWebhook(agent, 'https://rebind.test/', BODY, {}), { error: 'blocked_address' })
  t.match(await postWebhook(agent, 'https://rebind.test/', BODY, {}), { error: 'blocked_address' })
  t.equal(asked, 2, 'each connection looks up once and dials that answer')
})
