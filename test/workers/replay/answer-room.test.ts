import t from 'tap'
import { openAnswerRoom } from '../../../workers/replay/answer-room.ts'

const STEP = 3 * (256 << 10)

t.test('the room of large answers', async (t) => {
  t.test('is taken by what came of them, and given back at once', async (t) => {
    const room = openAnswerRoom({ bytes: 8 * STEP, waitMs: 20 })
    const place = room.openPlace('org')
    t.equal(room.state().busy, 0, 'one that is announced takes none')
    t.equal(await place.enter(), true)
    t.equal(await place.enter(), true)
    t.equal(room.state().busy, 2 * STEP)
    place.leave()
    place.leave()
    t.equal(room.state().busy, 0)
  })

  t.test('is half for one organization, so that others find room', async (t) => {
    const room = openAnswerRoom({ bytes: 4 * STEP, waitMs: 20 })
    const [first, second] = [room.openPlace('crowd'), room.openPlace('crowd')]
    t.equal(await first.enter(), true)
    t.equal(await second.enter(), true)
    t.equal(await second.enter(), false, 'in time')
    t.equal(await room.openPlace('other').enter(), true)
    first.leave()
    t.equal(await second.enter(), true, 'again when one has left')
  })

  t.test('is left by one that waits for more of it, or was let in just now', async (t) => {
    const room = openAnswerRoom({ bytes: 2 * STEP, waitMs: 60_000 })
    const first = room.openPlace('org')
    t.equal(await first.enter(), true)
    const waiting = room.openPlace('org')
    const entered = waiting.enter()
    waiting.leave()
    t.equal(await entered, false)
    const letIn = room.openPlace('org')
    const late = letIn.enter()
    first.leave()
    letIn.leave()
    t.equal(await late, false)
    t.same(room.state(), { busy: 0, free: 2 * STEP, waiting: 0 })
  })
})
