import t from 'tap'
import { MAX_WAITING, openGate } from '../../../sql/core/gate.ts'
import type { Gate } from '../../../sql/core/gate.ts'

t.test('a gate', async (t) => {
  t.test('lets in as many as there is room for, and the next when one leaves', async (t) => {
    const gate = openGate({ max: 2, waitMs: 500 })
    const [leave] = [await gate.enter(), await gate.enter()]
    const third = gate.enter()
    t.same(gate.state(), { busy: 2, free: 0, waiting: 1 })
    leave?.()
    leave?.()
    ;(await third)()
    t.same(gate.state(), { busy: 1, free: 1, waiting: 0 }, 'who leaves twice leaves once')
  })

  t.test('gives one owner a share, and others the rest', async (t) => {
    const gate = openGate({ max: 4, maxEach: 2, waitMs: 500 })
    const crowd = Array.from({ length: 10 }, () => enter(gate, 'crowd'))
    await Promise.all(crowd.slice(0, 2))
    t.same(gate.state(), { busy: 2, free: 2, waiting: 8 })
    await gate.enter('other')
    await gate.enter()
    t.same(gate.state(), { busy: 4, free: 0, waiting: 8 })
  })

  t.test('lets in next whose owner holds the fewest, not who came first', async (t) => {
    const gate = openGate({ max: 2, maxEach: 2, waitMs: 500 })
    const leave = await gate.enter('crowd')
    await gate.enter('crowd')
    const order: string[] = []
    for (const owner of ['crowd', 'crowd', 'other']) note(gate, owner, order)
    leave()
    await turn()
    t.same(order, ['other'])
  })

  t.test('turns away who waits too long, and who joins too many of its own', async (t) => {
    const gate = openGate({ max: 1, waitMs: 20 })
    const waits: number[] = []
    gate.onWait((seconds) => waits.push(seconds))
    await gate.enter('crowd')
    const late = Array.from({ length: MAX_WAITING }, () => t.rejects(gate.enter('crowd'), REFUSED))
    await t.rejects(gate.enter('crowd'), REFUSED, 'one more does not wait')
    t.equal(gate.state().waiting, MAX_WAITING)
    const other = t.rejects(gate.enter('other'), REFUSED, 'others still may')
    t.equal(gate.state().waiting, MAX_WAITING + 1)
    await Promise.all([...late, other])
    t.same(gate.state(), { busy: 1, free: 0, waiting: 0 })
    t.equal(waits.length, MAX_WAITING + 2, 'every wait is told, also those in vain')
  })

  t.test('lets in nobody less when one gives up in the turn in which it is let in', async (t) => {
    const gate = openGate({ max: 1, waitMs: 5000 })
    const waits: number[] = []
    gate.onWait((seconds) => waits.push(seconds))
    const leave = await gate.enter()
    const givingUp = new AbortController()
    const second = gate.enter('second', { signal: givingUp.signal })
    const third = gate.enter('third')
    leave()
    givingUp.abort()
    t.same(gate.state(), { busy: 1, free: 0, waiting: 1 })
    ;(await second)()
    ;(await third)()
    t.same(gate.state(), { busy: 0, free: 1, waiting: 0 })
    t.equal(waits.length, 3, 'each wait is told once')
  })

  t.test('turns away at once who has given up before', async (t) => {
    const gate = openGate({ max: 1, waitMs: 60_000 })
    await gate.enter()
    await t.rejects(gate.enter('gone', { signal: AbortSignal.abort() }), REFUSED)
    t.equal(gate.state().waiting, 0)
  })
})

const REFUSED = { code: 'NO_CONNECTION' }

/** What waits when the test is over is refused. */
const enter = (gate: Gate, owner: string) => gate.enter(owner).catch(() => undefined)

function note(gate: Gate, owner: string, order: string[]) {
  void enter(gate, owner).then((leave) => leave && order.push(owner))
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
