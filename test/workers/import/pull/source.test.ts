import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { parseNetworks } from '../../../../jobs/rules/core/outbound-address.ts'
import type { WorkerContext } from '../../../../workers/runtime/context.ts'
import { guardedAgents } from '../../../../workers/outbound/guarded-agent.ts'
import { SourceRefused } from '../../../../workers/import/pull/platform.ts'
import { openSource } from '../../../../workers/import/pull/source.ts'

const KEYS = { public_key: 'pk-lf-1', secret_key: 'sk-lf-secret-1' }
const PAIR = Buffer.from('pk-lf-1:sk-lf-secret-1').toString('base64')

/** A server on loopback, and a source that finds it where the name server says. */
async function open(
  t: Test,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  addresses: string[] = ['127.0.0.1'],
  networks = '127.0.0.0/8',
) {
  let connections = 0
  const server = createServer(answer).on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const agents = guardedAgents(parseNetworks(networks), { resolve: async () => addresses })
  t.teardown(() => {
    agents.destroy()
    server.closeAllConnections()
    server.close()
  })
  const run = {
    outbound: { agents } as unknown as WorkerContext['outbound'],
    signal: new AbortController().signal,
    now: () => new Date('2026-11-20T00:00:00Z'),
  }
  const { port } = server.address() as AddressInfo
  const connection = { base_url: `http://platform.test:${port}/at`, project: 'p', workspace: null }
  const platform = { headers: () => ({ authorization: `Basic ${PAIR}` }) }
  const source = openSource(run, platform, connection, KEYS)
  const fault = (path = '/x') => source.ask({ path }).then(null, (error: unknown) => error)
  return { source, fault, connections: () => connections }
}

t.test('a request has the keys, the query and the body it is given', async (t) => {
  const seen: unknown[] = []
  const { source } = await open(t, (request, response) => {
    const { method, url, headers } = request
    seen.push([method, url, headers.authorization, headers['content-type']])
    response.end('{"data":[1]}')
  })
  const query = { limit: 5, run: ['a', 'b&c'], cursor: undefined }
  const { rows } = await source.ask({ path: '/list', query, rows: 'data' })
  t.same(rows.map(String), ['1'])
  await source.ask({ path: '/find', body: { limit: 1 } })
  t.same(seen, [
    ['GET', '/at/list?limit=5&run=a&run=b%26c', `Basic ${PAIR}`, undefined],
    ['POST', '/at/find', `Basic ${PAIR}`, 'application/json'],
  ])
  t.equal(source.bytesRead(), 24)
})

t.test('a private address is refused before a packet is sent', async (t) => {
  const all = await open(t, (_, response) => response.end('{}'), ['127.0.0.1'], '')
  t.match(await all.fault(), { fault: 'blocked_address' })
  t.equal(all.connections(), 0)
})

t.test('so is one that the name leads to only later, and one among others', async (t) => {
  const addresses = ['127.0.0.1']
  const { source, fault, connections } = await open(
    t,
    (_, response) => response.end('{}'),
    addresses,
  )
  t.match(await source.ask({ path: '/x' }), { rows: [] })
  addresses[0] = '10.1.2.3'
  t.match(await fault(), { fault: 'blocked_address' })
  addresses.unshift('127.0.0.1')
  t.match(await fault(), { fault: 'blocked_address' })
  t.equal(connections(), 1)
})

t.test('a redirect is not followed', async (t) => {
  const { fault, connections } = await open(t, (_, response) =>
    response.writeHead(307, { location: 'https://other.example/at?key=k' }).end('{}'),
  )
  const message = 'The platform answered 307 to GET /x: it redirects to https://other.example/at'
  t.match(await fault(), { status: 307, message })
  t.equal(connections(), 1)
})

t.test('a refusal is said in a sentence without keys, however they are repeated', async (t) => {
  const said = [
    JSON.stringify({ message: `Unknown ${KEYS.secret_key}, ${PAIR} of ann@example.org` }),
    `<html>${KEYS.secret_key} ${encodeURIComponent(KEYS.public_key)} ${PAIR}`,
    JSON.stringify({ detail: `${'no '.repeat(500)}${KEYS.secret_key}` }),
    JSON.stringify({ error: { code: 1, key: KEYS.secret_key } }),
  ]
  for (const body of said) {
    const { fault } = await open(t, (_, response) =>
      response.writeHead(401, { 'retry-after': '3' }).end(body),
    )
    const error = (await fault()) as SourceRefused
    t.type(error, SourceRefused)
    t.match(error, {
      status: 401,
      retryAfterSeconds: 3,
      message: /^The platform answered 401 to GET \/x: /,
    })
    t.ok(error.message.length <= 240)
    for (const secret of [...Object.values(KEYS), PAIR, 'ann@example.org']) {
      t.notMatch(String(error.stack), secret)
    }
  }
})

t.test('an answer that breaks off is none', async (t) => {
  const { fault } = await open(t, (_, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"a":', () => response.socket?.destroy())
  })
  const error = (await fault()) as Error
  t.match(error, { fault: 'connection_reset' })
  t.notMatch(String(error.stack), KEYS.secret_key)
})
