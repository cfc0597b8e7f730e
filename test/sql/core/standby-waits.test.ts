import t from 'tap'
import { openWaits } from '../../../sql/core/standby-waits.ts'

t.test('who waits is told once its position is reached', async (t) => {
  const waits = openWaits()
  const [near, far] = [waits.wait(10), waits.wait(30)]
  waits.reached(20)
  t.equal(await near, true)
  t.equal(waits.count(), 1)
  waits.reached(30)
  t.equal(await far, true)
  t.equal(waits.count(), 0)
})

t.test('who has waited too long is told so, and its position still awaited', async (t) => {
  const waits = openWaits()
  t.equal(await waits.wait(10), false)
  t.equal(waits.count(), 1)
  t.ok(waits.lagMs() > 0)

  t.test('nobody else waits meanwhile', async (t) => {
    let isOver = false
    const waiting = waits.wait(20).then(() => (isOver = true))
    await Promise.resolve()
    await Promise.resolve()
    t.equal(isOver, true)
    await waiting
    t.equal(waits.count(), 1)
  })

  t.test('the next one after it is reached tells whether the lag is over', async (t) => {
    waits.reached(20)
    t.equal(await waits.wait(30), false)
    t.equal(waits.count(), 1)
    waits.reached(30)
    const next = waits.wait(40)
    waits.reached(40)
    t.equal(await next, true)
  })
})

t.test('when the standby is given up all are told', async (t) => {
  const waits = openWaits()
  const waiting = waits.wait(10)
  waits.giveUp()
  t.equal(await waiting, false)
  t.same([waits.count(), waits.lagMs()], [0, 0])
})
