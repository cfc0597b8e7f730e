import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { listPausedQueues, pauseQueue, resumeQueue } from '../../../sql/jobs/queue-control.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { silentMeter } from '../../../workers/runtime/meter.ts'
import type { Meter } from '../../../workers/runtime/meter.ts'
import { openQueues } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('a paused queue', async (t) => {
  const queues = await openQueues(t)
  const { sql } = queues

  async function startCounting() {
    const declared = await queues.declare()
    const done: number[] = []
    let looked = ''
    const meter: Meter = { ...silentMeter, lookedForJobs: (_, way) => (looked = way) }
    /** Why each job was looked for. */
    const ways: string[] = []
    const work = handler(declared, async ({ n }) => {
      done.push(n)
      ways.push(looked)
    })
    const workers = await queues.service.startWorkers([work], 4, meter)
    const isPaused = () => workers.pools.queues()[0]?.paused
    return { declared, done, ways, isPaused, ...workers }
  }

  t.test('fills, and is worked off as soon as it is resumed', async (t) => {
    const { declared, done, ways, isPaused } = await startCounting()
    await pauseQueue(sql, declared.name, 'maintenance')
    await until(isPaused)
    await queues.enqueue(declared, [1, 2, 3])
    t.match(await listPausedQueues(sql), [{ queue: declared.name, reason: 'maintenance' }])
    await setTimeout(100)
    t.same(done, [])
    t.equal(await resumeQueue(sql, declared.name), true)
    await until(() => done.length === 3)
    t.same(new Set(ways), new Set(['notified']), 'without a poll')
    t.equal(await resumeQueue(sql, declared.name), false)
  })

  t.test('is found by polling when the notification is lost', async (t) => {
    const { declared, isPaused } = await startCounting()
    await sql`insert into queue_control (queue) values (${declared.name})`
    await until(isPaused)
    await sql`delete from queue_control where queue = ${declared.name}`
    await until(() => isPaused() === false)
    t.pass()
  })

  t.test(
    'is paused for processes that start later, and pausing again changes nothing',
    async (t) => {
      const { declared, stop } = await startCounting()
      await stop()
      await pauseQueue(sql, declared.name, 'first')
      await pauseQueue(sql, declared.name, 'second')
      await queues.enqueue(declared, [1])
      const late = await queues.start(handler(declared, async () => {}))
      t.equal(late.pools.queues()[0]?.paused, true)
      t.match(await listPausedQueues(sql), [{ reason: 'first' }])
      await resumeQueue(sql, declared.name)
    },
  )

  t.test('lets what runs already come to its end', async (t) => {
    const declared = await queues.declare()
    let finish = () => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const { pools } = await queues.start(handler(declared, () => finished))
    const id = await queues.submit(declared)
    await until(() => pools.running() === 1)
    await pauseQueue(sql, declared.name, null)
    await until(() => pools.queues()[0]?.paused)
    finish()
    t.match(await queues.ended(id), { state: 'succeeded' })
    await resumeQueue(sql, declared.name)
  })
})
