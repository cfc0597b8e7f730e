import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { parseNetworks } from '../../../jobs/rules/core/outbound-address.ts'
import { guardedAgents } from '../../../workers/outbound/guarded-agent.ts'
import { guardedFetch, NoAnswer } from '../../../workers/outbound/guarded-fetch.ts'
import type { FetchOptions } from '../../../workers/outbound/guarded-fetch.ts'

t.test('a blob is sent as it is read, no faster than it is taken', async (t) => {
  let taken = 0
  const { fetch, url } = await open(t, (request, response) => {
    request.on('data', (chunk: Buffer) => (taken += chunk.length))
    request.on('end', () => response.end(JSON.stringify(request.headers['content-length'])))
  })
  let ahead = 0
  const body = lazyBlob(CHUNKS, (given) => (ahead = Math.max(ahead, given - taken)))
  const response = await fetch(url, { method: 'PUT', body })
  t.equal(await response.json(), String(body.size))
  t.equal(taken, body.size)
  t.ok(ahead < body.size / 4, `${ahead} of ${body.size} bytes were read before they were taken`)
})

t.test(
  'a blob that cannot be read fails with its own error, also where that has a code',
  async (t) => {
    const { fetch, url } = await open(t, (request) => request.resume())
    const cause = Object.assign(new Error('of the disk'), { code: 'ECONNREFUSED' })
    const body = lazyBlob(CHUNKS, (given) => {
      if (given > 2 * CHUNK) throw cause
    })
    t.equal(await fetch(url, { method: 'PUT', body }).catch((error: unknown) => error), cause)
  },
)

t.test('no answer says why, and does not repeat the address', async (t) => {
  const stopped = new AbortController()
  const { fetch, url } = await open(
    t,
    (request, response) => {
      if (request.url === '/long') response.end('x'.repeat(101))
      if (request.url === '/cut') request.socket.destroy()
      if (request.url === '/stop') stopped.abort(new Error('stopped'))
    },
    { maxBytes: 100, signal: stopped.signal },
  )
  const fault = (target: string) => fetch(target).catch((error: unknown) => error)
  t.match(await fault(`${url}/long`), new NoAnswer('GET', '127.0.0.1', 'too_large'))
  t.match(await fault(`${url}/cut`), new NoAnswer('GET', '127.0.0.1', 'connection_reset'))
  t.match(await fault('http://192.0.2.1/secret'), { fault: 'blocked_address' })
  for (const target of ['https://[secret', 'secret', 'file:///secret', 'data:,secret']) {
    const error = await fault(target)
    t.match(error, { fault: 'connection_error' }, target)
    t.notMatch(JSON.stringify([error, (error as Error).stack]), 'secret')
  }
  t.match(await fault(`${url}/stop`), { message: 'stopped' })

  const silent = await open(t, (request) => request.resume(), { idleMs: 300 })
  const silence = await silent.fetch(silent.url).catch((error: unknown) => error)
  t.match(silence, new NoAnswer('GET', '127.0.0.1', 'timeout'))
})

t.test('an answer is read whole, whether it says its length or not', async (t) => {
  for (const size of [0, 1, 65_536, 65_537, 200_000, 1 << 20]) {
    const sent = Buffer.alloc(size, 'abcdefghijk')
    const { fetch, url } = await open(t, (request, response) => {
      if (request.url === '/told') return response.end(sent)
      response.writeHead(200)
      for (let at = 0; at < size; at += 10_000) response.write(sent.subarray(at, at + 10_000))
      response.end()
    })
    for (const path of ['told', 'untold']) {
      const answer = Buffer.from(await (await fetch(`${url}/${path}`)).arrayBuffer())
      t.ok(answer.equals(sent), `${size} bytes, ${path}`)
    }
  }
})

t.test('an answer that says it is too long is not waited for', async (t) => {
  const { fetch, url } = await open(
    t,
    (_, response) => response.writeHead(200, { 'content-length': 101 }).write('x'),
    { maxBytes: 100 },
  )
  t.match(await fetch(url).catch((error: unknown) => error), { fault: 'too_large' })
})

t.test('a redirect is an answer', async (t) => {
  const paths: unknown[] = []
  const { fetch, url } = await open(t, (request, response) => {
    paths.push(request.url)
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  t.equal((await fetch(`${url}/here`, { method: 'POST', body: 'x' })).status, 307)
  t.same(paths, ['/here'])
})

/** A fetch that reaches this machine, and a server on it. */
async function open(t: Test, answer: RequestListener, options: Partial<FetchOptions> = {}) {
  const agents = guardedAgents(parseNetworks('127.0.0.0/8'))
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    agents.destroy()
    server.closeAllConnections()
    server.close()
  })
  const fetch = guardedFetch({
    agentsFor: () => agents,
    signal: new AbortController().signal,
    idleMs: 60_000,
    maxBytes: 1 << 20,
    ...options,
  })
  return { fetch, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** A blob whose bytes come into being as they are read. @param onRead told how many have been */
function lazyBlob(chunks: number, onRead: (given: number) => void) {
  async function* bytes() {
    for (let i = 1; i <= chunks; i++) {
      onRead(i * CHUNK)
      yield new Uint8Array(CHUNK)
    }
  }
  class LazyBlob extends Blob {
    override get size() {
      return chunks * CHUNK
    }
    override stream() {
      return ReadableStream.from(bytes()) as never
    }
  }
  return new LazyBlob()
}

const CHUNK = 64 << 10
const CHUNKS = 1024
