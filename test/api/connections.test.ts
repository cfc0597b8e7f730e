import t from 'tap'
import type { Test } from 'tap'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { createApi } from '../../api/server.ts'
import type { ServerOptions } from '../../api/server.ts'
import { meterRequests } from '../../ops/api-metrics.ts'
import { openMetrics } from '../../ops/metrics.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('connections', async (t) => {
  const { context } = await openService(t)

  t.test('of one address are limited, and those of others are not its matter', async (t) => {
    const { port, server } = await listen(t, { max: 1000, maxPerAddress: 20 })
    const held = await Promise.all(Array.from({ length: 20 }, () => open(t, port, '127.0.0.1')))
    // One that does not ask in time is ended without an answer.
    const answer = await until(async () => ask(await open(t, port, '127.0.0.1')))
    t.match(answer, /^HTTP\/1\.1 429 /)
    t.match(answer, /^retry-after: 5\r$/im)
    t.match(answer, /^connection: close\r$/im)
    t.match(answer, /^x-quota-exceeded: connections\r$/im)
    t.match(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))), {
      code: 'too_many_connections',
      detail: String,
      request_id: String,
      resets_in_seconds: 5,
    })
    t.match(await ask(await open(t, port, '127.0.0.2')), /^HTTP\/1\.1 200 /)
    t.match(await ask(held[0] as Socket), /^HTTP\/1\.1 200 /, 'and those within stay')
    held.forEach((socket) => socket.destroy())
    await until(() => server.app.connections.count() < 5)
    t.match(await ask(await open(t, port, '127.0.0.1')), /^HTTP\/1\.1 200 /, 'and make room')
  })

  t.test('beyond the limit that ask for nothing are ended', async (t) => {
    const { port, server } = await listen(t, { max: 10_000, maxPerAddress: 1 })
    await open(t, port, '127.0.0.1')
    const beyond = await Promise.all(Array.from({ length: 300 }, () => open(t, port, '127.0.0.1')))
    await until(() => beyond.every(({ closed }) => closed))
    await until(() => server.app.connections.count() === 1)
    t.equal(server.app.connections.refusals.address, 300)
  })

  t.test('of trusted proxies count among all alone', async (t) => {
    const limits = { max: 1000, maxPerAddress: 5 }
    const { port } = await listen(t, limits, { trustedProxies: '127.0.0.1' })
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(t, port, '127.0.0.1')))
    for (const socket of sockets) t.match(await ask(socket), /^HTTP\/1\.1 200 /)
  })

  t.test('that are idle make room for new ones, the longest idle first', async (t) => {
    const { port, server } = await listen(t, { max: 100, maxPerAddress: 60 })
    const old = await Promise.all(Array.from({ length: 50 }, () => open(t, port, '127.0.0.1')))
    const asked = old[0] as Socket
    await Promise.all(Array.from({ length: 35 }, () => open(t, port, '127.0.0.2')))
    await until(() => server.app.connections.count() === 85)
    t.match(await ask(asked), /^HTTP\/1\.1 200 /)
    const newest = await open(t, port, '127.0.0.3')
    for (let i = 0; i < 45; i++) {
      t.match(await ask(await open(t, port, '127.0.0.3')), /^HTTP\/1\.1 200 /)
    }
    t.equal(old.filter(({ closed }) => closed).length > 30, true)
    t.match(await ask(asked), /^HTTP\/1\.1 200 /, 'and who asked lately is not among them')
    t.match(await ask(newest), /^HTTP\/1\.1 200 /)
    t.equal(server.app.connections.refusals.total, 0)
  })

  t.test('that have a second request under way are not idle', async (t) => {
    const { port, server } = await listen(t, { max: 20, maxPerAddress: 20 })
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    t.teardown(release)
    server.ext('onPreHandler', async (request, h) => {
      if (request.query['held'] === '') await held
      return h.continue
    })
    const busy = await open(t, port, '127.0.0.1')
    const first = once(busy, 'data')
    busy.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /livez?held= HTTP/1.1\r\nHost: a\r\n\r\n')
    await first
    for (let i = 0; i < 25; i++) await open(t, port, '127.0.0.2')
    await until(() => server.app.connections.count() < 20)
    t.notOk(busy.closed)
    const second = once(busy, 'data')
    release()
    t.match(String(await second), /^HTTP\/1\.1 200 /)
  })

  t.test('are kept for less time the more there are', async (t) => {
    const { port, server } = await listen(t, { max: 100, maxPerAddress: 100 })
    const first = await open(t, port, '127.0.0.1')
    t.match(await ask(first), /^keep-alive: timeout=65\r$/im)
    const sockets = await Promise.all(Array.from({ length: 80 }, () => open(t, port, '127.0.0.1')))
    await until(() => server.app.connections.count() === 81)
    t.match(await ask(first), /^keep-alive: timeout=2\d\r$/im)
    sockets.forEach((socket) => socket.destroy())
    await until(() => server.app.connections.count() === 1)
    t.match(await ask(first), /^keep-alive: timeout=65\r$/im)
  })

  t.test('are counted by the metrics', async (t) => {
    const { port, server } = await listen(t, { max: 10, maxPerAddress: 2 })
    const metrics = openMetrics()
    meterRequests(metrics, server)
    await Promise.all(Array.from({ length: 2 }, () => open(t, port, '127.0.0.1')))
    await until(() => server.app.connections.count() === 2)
    t.match(await metrics.metrics(), /^adl_http_connections 2$/m)
    await open(t, port, '127.0.0.1')
    await until(() => server.app.connections.refusals.address === 1)
    const text = await metrics.metrics()
    t.match(text, /^adl_http_connections_refused_total\{reason="address"\} 1$/m)
    t.match(text, /^adl_http_connections_refused_total\{reason="total"\} 0$/m)
  })

  async function listen(
    t: Test,
    connections: ServerOptions['connections'],
    options: ServerOptions = {},
  ) {
    const server = await createApi(context, { ...options, ...(connections && { connections }) })
    await server.start()
    t.teardown(() => server.stop({ timeout: 100 }))
    return { server, port: Number(server.info.port) }
  }
})

async function open(t: Test, port: number, localAddress: string) {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined).resume()
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** What a connection is answered, empty when it was ended without an answer. */
async function ask(socket: Socket) {
  let answer = ''
  const take = (part: Buffer) => (answer += part.toString())
  socket.on('data', take).write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => socket.closed || /\r\n\r\n.*\}$/s.test(answer))
  socket.off('data', take)
  return answer
}
