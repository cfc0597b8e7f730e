import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createSocketServer } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { parseNetworks } from '../../../jobs/rules/core/outbound-address.ts'
import { guardedAgents } from '../../../workers/outbound/guarded-agent.ts'
import type { GuardedAgents } from '../../../workers/outbound/guarded-agent.ts'
import { request } from '../../../workers/outbound/request.ts'
import type { OutboundRequest } from '../../../workers/outbound/request.ts'
import { startReceiver } from '../../support/receiver.ts'

const LOOPBACK = parseNetworks('127.0.0.0/8')

t.test('an answer comes with its status, headers and whole body', async (t) => {
  const { url, ca, received } = await startReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca })
  t.teardown(() => agents.destroy())
  t.match(await post(agents, `${url}/429`), {
    fault: null,
    status: 429,
    headers: { 'retry-after': '2' },
    body: Buffer.from('answer 429'),
    cut: null,
  })
  t.match(received, [{ method: 'POST', path: '/429', body: Buffer.from('{}') }])
  t.match(await post(agents, `${url}/204`), { status: 204, body: Buffer.alloc(0), cut: null })
  t.match(await post(agents, `${url}/redirect`), { status: 307 })
  t.equal(received.length, 3, 'a redirect is not followed')
})

t.test('an answer that is too long or does not end says so', async (t) => {
  const { url, ca } = await startReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca })
  t.teardown(() => agents.destroy())
  const exact = await post(agents, `${url}/200`, { maxBytes: 10 })
  t.match(exact, { status: 200, cut: null, body: Buffer.from('answer 200') })
  const long = await post(agents, `${url}/200`, { maxBytes: 9 })
  t.match(long, { status: 200, cut: 'too_large', body: Buffer.from('answer 20') })
  const stalled = await post(agents, `${url}/slow-body`, { timeoutMs: 5000 })
  t.match(stalled, { status: 200, cut: 'timeout', body: Buffer.from('x') })
  t.same(await post(agents, `${url}/slow-headers`, { timeoutMs: 300 }), { fault: 'timeout' })
})

t.test('an answer is read step after step as there is room, and else no further', async (t) => {
  const { url, ca } = await startReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca })
  t.teardown(() => agents.destroy())
  let asked = 0
  /** Room for so many steps of 4 bytes after the first one, of the 10 of the answer. */
  const room = (steps: number) => {
    asked = 0
    return { stepBytes: 4, enter: async () => ++asked <= steps }
  }
  const whole = await post(agents, `${url}/200`, { room: { ...room(0), stepBytes: 10 } })
  t.match(whole, { cut: null, body: Buffer.from('answer 200') })
  t.equal(asked, 0, 'one that is a single step asks for no room')
  const stepped = await post(agents, `${url}/200`, { room: room(2) })
  t.match(stepped, { cut: null, body: Buffer.from('answer 200') })
  t.equal(asked, 2, 'only for what has come')
  t.match(await post(agents, `${url}/200`, { room: room(1) }), { status: 200, cut: 'no_room' })
  const waiting = { room: { stepBytes: 4, enter: () => new Promise<boolean>(() => {}) } }
  const late = await post(agents, `${url}/200`, { ...waiting, timeoutMs: 5000 })
  t.match(late, { cut: 'no_room' }, 'in time')
})

t.test('a request ends when its caller is told to stop', async (t) => {
  const { url, ca } = await startReceiver(t)
  const agents = guardedAgents(LOOPBACK, { ca })
  t.teardown(() => agents.destroy())
  const abort = new AbortController()
  const posted = post(agents, `${url}/slow-headers`, { signal: abort.signal })
  abort.abort()
  t.same(await posted, { fault: 'aborted' })
  t.same(await post(agents, `${url}/200`, { signal: abort.signal }), { fault: 'aborted' })
})

t.test('plain http reaches the allowed networks', async (t) => {
  const { port, paths } = await startPlainServer(t)
  const agents = guardedAgents(LOOPBACK, { resolve: async () => ['127.0.0.1'] })
  t.teardown(() => agents.destroy())
  for (const host of ['127.0.0.1', '127.1', 'runner.test']) {
    t.match(
      await post(agents, `http://${host}:${port}/${host}`),
      { fault: null, status: 200 },
      host,
    )
  }
  t.same(paths, ['/127.0.0.1', '/127.1', '/runner.test'])
})

t.test('plain http reaches no public address, nor a private one that is not allowed', async (t) => {
  let connections = 0
  const canary = createSocketServer((socket) => {
    connections++
    socket.destroy()
  })
  const port = await listen(t, canary)
  const names: Record<string, string[]> = {
    'public.test': ['93.184.215.14'],
    'mixed.test': ['10.0.0.1', '93.184.215.14'],
    'loop.test': ['127.0.0.1'],
  }
  const agents = guardedAgents(parseNetworks('10.0.0.0/8'), {
    resolve: async (name) => names[name] ?? [],
  })
  t.teardown(() => agents.destroy())
  for (const host of ['8.8.8.8', '[2606:2800:21f:cb07::1]', '127.0.0.1', ...Object.keys(names)]) {
    t.same(await post(agents, `http://${host}:${port}/`), { fault: 'blocked_address' }, host)
  }
  t.equal(connections, 0)
})

function post(agents: GuardedAgents, url: string, options: Partial<OutboundRequest> = {}) {
  return request(agents, {
    url,
    headers: {},
    body: Buffer.from('{}'),
    timeoutMs: 20_000,
    maxBytes: 4096,
    ...options,
  })
}

/** Answers 200 to everything. */
async function startPlainServer(t: Test) {
  const paths: string[] = []
  const answer: RequestListener = ({ url = '' }, response) => {
    paths.push(url)
    response.end('ok')
  }
  return { port: await listen(t, createServer(answer)), paths }
}

async function listen(t: Test, server: ReturnType<typeof createSocketServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}
