import t from 'tap'
import type { Request } from '@hapi/hapi'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { openBodyRoom } from '../../api/body-room.ts'
import { createApi } from '../../api/server.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

const MIB = 1 << 20

t.test('the room that bodies share', async (t) => {
  t.test(
    'lets large bodies wait that find none, of one owner in the order they came',
    async (t) => {
      const room = openBodyRoom({ bytes: 32 * MIB, waitMs: 60_000 })
      const admitted: number[] = []
      const requests = [0, 1, 2].map(() => requestOf('one'))
      const grown = requests.map(async (request, i) => {
        await room.grow(request, 2 * MIB)
        admitted.push(i)
      })
      await grown[0]
      t.same(admitted, [0], 'a body takes eight times its bytes')
      room.settle(requests[0] as Request, MIB / 2)
      room.leave(requests[0] as Request)
      room.leave(requests[0] as Request)
      await grown[1]
      t.same(admitted, [0, 1])
      t.equal(room.state().busy, 16 * MIB)
      room.leave(requests[1] as Request)
      await grown[2]
    },
  )

  t.test('gives one organization half of it, and others the rest', async (t) => {
    const room = openBodyRoom({ bytes: 16 * MIB, waitMs: 60_000 })
    const crowd = Array.from({ length: 50 }, () => requestOf('crowd'))
    const grown = crowd.map((request) => room.grow(request, MIB).catch(() => undefined))
    await grown[0]
    await room.grow(requestOf('other'), MIB)
    t.same(room.state(), { busy: 16 * MIB, free: 0, waiting: 49 })
    for (const request of crowd) room.leave(request)
    await Promise.all(grown)
    t.same(room.state(), { busy: 8 * MIB, free: 8 * MIB, waiting: 0 })
  })

  t.test('keeps no small body waiting', async (t) => {
    const room = openBodyRoom({ bytes: 100_000, waitMs: 60_000 })
    const requests = [requestOf('one'), requestOf('one'), requestOf('one')]
    for (const request of requests) room.settle(request, 10_000)
    t.ok(room.state().free < 0)
    for (const request of requests) room.leave(request)
    t.equal(room.state().free, 100_000)
  })

  t.test('refuses after a while, and has no less room for it', async (t) => {
    const room = openBodyRoom({ bytes: 16 * MIB, waitMs: 20 })
    const [first, second] = [requestOf('one'), requestOf('one')]
    await room.grow(first, MIB)
    await t.rejects(room.grow(second, MIB), {
      code: 'unavailable',
      headers: { 'Retry-After': '2' },
    })
    t.equal(second.app.refused, 'body_room')
    room.leave(first)
    t.equal(room.state().busy, 0)
    await room.grow(requestOf('one'), MIB)
  })

  t.test('holds nothing for a request that left while or before it asked', async (t) => {
    const room = openBodyRoom({ bytes: 16 * MIB, waitMs: 60_000 })
    const [first, second, third] = [requestOf('one'), requestOf('one'), requestOf('one')]
    await room.grow(first, MIB)
    const waits = t.rejects(room.grow(second, MIB))
    room.leave(second)
    await waits
    room.leave(first)
    room.leave(third)
    await room.grow(third, MIB).catch(() => undefined)
    room.settle(third, 1000)
    t.same(room.state(), { busy: 0, free: 16 * MIB, waiting: 0 })
  })

  t.test('is free again when requests were answered, and when clients hung up', async (t) => {
    const service = await openService(t)
    const { key } = await service.makeOrganization()
    const server = await createApi(service.context, {
      bodyRoom: { bytes: 6 * MIB, waitMs: 30_000 },
    })
    await server.start()
    t.teardown(() => server.stop({ timeout: 100 }))
    const { room } = server.app.bodies
    const post = (body: Buffer | string, more = '') => {
      const { port } = server.listener.address() as AddressInfo
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      t.teardown(() => socket.destroy())
      socket.write(
        `POST /api/v1/traces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}\r\n`,
      )
      socket.write(body)
      return socket
    }
    const trace = JSON.stringify({ agent_name: 'a', metadata: { text: 'x'.repeat(300_000) } })
    const lengths = (bytes: number) => `Content-Length: ${bytes}\r\n`

    // One holds the share and does not send its end; the others wait, and hang up.
    const first = post(trace.slice(0, -10), lengths(trace.length))
    await until(() => room.state().busy > 0)
    const waiting = Array.from({ length: 5 }, () => post(trace, lengths(trace.length)))
    await until(() => room.state().waiting === 5)
    waiting.forEach((socket) => socket.destroy())
    await until(() => room.state().waiting === 0)

    // What has sent little, and a small one that might inflate to much, take no large place.
    const { busy } = room.state()
    const stalled = post(trace.slice(0, 1000), lengths(5 << 20))
    const zipped = gzipSync(JSON.stringify({ agent_name: 'a' }))
    const small = post(zipped, `Content-Encoding: gzip\r\n${lengths(zipped.length)}`)
    t.match(await answerOf(small), /^HTTP\/1\.1 201 /)
    await until(() => room.state().busy === busy)
    stalled.destroy()

    first.destroy()
    await until(() => room.state().busy === 0)
    const last = post(trace, lengths(trace.length))
    t.match(await answerOf(last), /^HTTP\/1\.1 201 /)
    await until(() => room.state().busy === 0)
  })
})

async function answerOf(socket: Socket) {
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}

/** What the room looks at of a request. */
function requestOf(orgId: string) {
  return {
    app: {},
    auth: { credentials: { user: { principal: { orgId } } } },
  } as unknown as Request
}
