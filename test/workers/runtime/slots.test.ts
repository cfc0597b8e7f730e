import t from 'tap'
import type { QueuedJob } from '../../../workers/runtime/attempt.ts'
import { openSlots } from '../../../workers/runtime/slots.ts'
import { gate } from '../../support/queues.ts'

const job = (id: string, groupId: string | null = null) =>
  ({ id, name: 'test.run', groupId, data: { job_id: `job of ${id}` } }) as unknown as QueuedJob

t.test('runs of a queue in one process', async (t) => {
  let now = new Date(0)
  let ended = 0
  const open = (total: number) =>
    openSlots(
      total,
      () => now,
      () => ended++,
    )
  const later = (ms: number) => {
    now = new Date(now.getTime() + ms)
  }

  t.test('fill slots, by organization, until they end', async (t) => {
    const slots = open(3)
    const { opened, open: end } = gate()
    slots.start(job('1', 'a'), () => opened)
    slots.start(job('2', 'a'), () => opened)
    slots.start(job('3'), () => opened)
    t.equal(slots.free(), 0)
    t.same([...slots.held()], [['a', 2]])
    end()
    await slots.allEnded()
    t.equal(slots.free(), 3)
    t.equal(ended, 3)
  })

  t.test('are told the first reason to stop only', async (t) => {
    const slots = open(1)
    let reason: unknown
    slots.start(job('1'), async (abort) => {
      abort.signal.addEventListener('abort', () => {
        reason = abort.signal.reason
      })
    })
    slots.stop('1', 'canceled')
    slots.stop('1', 'draining')
    slots.stop('unknown', 'draining')
    t.equal(reason, 'canceled')
    await slots.allEnded()
  })

  t.test(
    'that ignore it lose their slots, but a process loses no more slots than it has',
    async (t) => {
      const slots = open(2)
      const { opened, open: end } = gate()
      for (const id of ['1', '2']) slots.start(job(id), () => opened)
      slots.stop('1', 'claim_lost')
      later(9_999)
      t.same(slots.findOverruns(), [])
      later(1)
      const toldAt = new Date(0)
      t.match(slots.findOverruns(), [
        { queueJobId: '1', jobId: 'job of 1', reason: 'claim_lost', toldAt },
      ])
      t.same(slots.findOverruns(), [], 'each is found once')
      t.equal(slots.overruns().length, 1)
      t.same(
        slots.running().map(({ id }) => id),
        ['2'],
        'its claim is not kept alive',
      )
      t.equal(slots.free(), 1)
      slots.stop('2', 'canceled')
      later(10_000)
      slots.findOverruns()
      t.equal(slots.free(), 0)
      end()
      await slots.allEnded()
      t.equal(slots.free(), 2)
      t.same(slots.overruns(), [])
    },
  )
})
