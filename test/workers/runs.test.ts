import t from 'tap'
import type { QueuedJob } from '../../workers/queued-job.ts'
import { openRuns } from '../../workers/runs.ts'
import { gate } from '../queues.ts'

const job = (id: string, groupId: string | null = null) =>
  ({ id, name: 'test.run', groupId, data: { job_id: `job of ${id}` } }) as unknown as QueuedJob

t.test('runs of a queue in one process', async (t) => {
  let now = new Date(0)
  let ended = 0
  const open = (slots: number) =>
    openRuns(
      slots,
      () => now,
      () => ended++,
    )
  const later = (ms: number) => {
    now = new Date(now.getTime() + ms)
  }

  t.test('fill slots, by organization, until they end', async (t) => {
    const runs = open(3)
    const { opened, open: end } = gate()
    runs.start(job('1', 'a'), () => opened)
    runs.start(job('2', 'a'), () => opened)
    runs.start(job('3'), () => opened)
    t.equal(runs.free(), 0)
    t.same([...runs.held()], [['a', 2]])
    end()
    await runs.allEnded()
    t.equal(runs.free(), 3)
    t.equal(ended, 3)
  })

  t.test('are told the first reason to stop only', async (t) => {
    const runs = open(1)
    let reason: unknown
    runs.start(job('1'), async (abort) => {
      abort.signal.addEventListener('abort', () => {
        reason = abort.signal.reason
      })
    })
    runs.stop('1', 'cancelled')
    runs.stop('1', 'draining')
    runs.stop('unknown', 'draining')
    t.equal(reason, 'cancelled')
    await runs.allEnded()
  })

  t.test(
    'that ignore it lose their slots, but a process loses no more slots than it has',
    async (t) => {
      const runs = open(2)
      const { opened, open: end } = gate()
      for (const id of ['1', '2']) runs.start(job(id), () => opened)
      runs.stop('1', 'claim_lost')
      later(9_999)
      t.same(runs.findOverruns(), [])
      later(1)
      const toldAt = new Date(0)
      t.match(runs.findOverruns(), [
        { queueJobId: '1', jobId: 'job of 1', reason: 'claim_lost', toldAt },
      ])
      t.same(runs.findOverruns(), [], 'each is found once')
      t.equal(runs.overruns().length, 1)
      t.same(
        runs.running().map(({ id }) => id),
        ['2'],
        'its claim is not kept alive',
      )
      t.equal(runs.free(), 1)
      runs.stop('2', 'cancelled')
      later(10_000)
      runs.findOverruns()
      t.equal(runs.free(), 0)
      end()
      await runs.allEnded()
      t.equal(runs.free(), 2)
      t.same(runs.overruns(), [])
    },
  )
})
