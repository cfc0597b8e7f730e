import t from 'tap'
import type { Request } from '@hapi/hapi'
import { openBodyRoom } from '../../api/body-room.ts'
import { openService } from '../support/service.ts'

const MIB = 1 << 20

t.test('the room that bodies share', async (t) => {
  t.test('lets those wait that find none, in the order they came', async (t) => {
    const room = openBodyRoom({ bytes: 20 * MIB, waitMs: 60_000 })
    const admitted: number[] = []
    const requests = [0, 1, 2, 3].map(() => ({}) as Request)
    const entered = requests.map(async (request, i) => {
      await room.enter(request, 2 * MIB)
      admitted.push(i)
    })
    await entered[0]
    t.same(admitted, [0], 'a body takes eight times its bytes')
    room.shrink(requests[0] as Request, MIB / 2)
    await entered[1]
    t.same(admitted, [0, 1])
    for (const [i, request] of requests.entries()) {
      await entered[i]
      room.leave(request)
      room.leave(request)
    }
    t.same(admitted, [0, 1, 2, 3])
  })

  t.test('keeps no small body waiting', async () => {
    const room = openBodyRoom({ bytes: 1, waitMs: 60_000 })
    await room.enter({} as Request, 10_000)
    await room.enter({} as Request, 10_000)
  })

  t.test('refuses after a while, and has no less room for it', async (t) => {
    const room = openBodyRoom({ bytes: 8 * MIB, waitMs: 20 })
    const [first, second] = [{} as Request, {} as Request]
    await room.enter(first, MIB)
    await t.rejects(room.enter(second, MIB), {
      code: 'unavailable',
      headers: { 'Retry-After': '2' },
    })
    room.leave(second)
    await t.rejects(room.enter(second, MIB), { code: 'unavailable' })
    room.leave(first)
    await room.enter(second, MIB)
  })

  t.test('is free again when a request was answered', async (t) => {
    const service = await openService(t, { bodyRoom: { bytes: 3 * MIB, waitMs: 30_000 } })
    const { key } = await service.makeOrganization()
    const trace = { agent_name: 'a', metadata: { text: 'x'.repeat(300_000) } }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => service.client(key).post('/traces', trace)),
    )
    t.same(
      answers.map(({ status }) => status),
      [201, 201, 201, 201],
    )
  })
})
