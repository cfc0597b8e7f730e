import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/**
 * An HTTP proxy before the API that tries the patience of clients: the first request to each operation is
 * answered that the service is busy, and the second to store traces is done, but its answer is lost.
 */
export async function openMoodyProxy(t: Test, target: string) {
  const asked = new Map<string, number>()
  const server = createServer((incoming, answer) => {
    const name = `${incoming.method} ${incoming.url?.replace(/\?.*/, '')}`
    const times = (asked.get(name) ?? 0) + 1
    asked.set(name, times)
    if (times === 1 && name.includes('/api/v1/')) return answerBusy(incoming, answer)
    passOn(target, incoming, answer, times === 2 && name === LOST)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** How often an operation was asked for, such as `POST /api/v1/datasets`. */
    timesOf: (name: string) => asked.get(name) ?? 0,
  }
}

function answerBusy(incoming: IncomingMessage, answer: ServerResponse) {
  incoming.resume()
  answer.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': '0' })
  answer.end(JSON.stringify({ detail: 'Busy', code: 'unavailable', request_id: 'none' }))
}

function passOn(target: string, incoming: IncomingMessage, answer: ServerResponse, loses: boolean) {
  const { method, url, headers } = incoming
  const outgoing = request(new URL(url ?? '/', target), { method, headers } as object, (got) => {
    if (loses) return void got.resume().on('end', () => answer.destroy())
    answer.writeHead(got.statusCode ?? 502, got.headers)
    got.pipe(answer)
  })
  outgoing.on('error', () => answer.destroy())
  incoming.pipe(outgoing)
}

const LOST = 'POST /api/v1/traces/batch'
