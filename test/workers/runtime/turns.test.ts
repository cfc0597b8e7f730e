import t from 'tap'
import { RELEASED_PRIORITY } from '../../../jobs/queue.ts'
import type { Queryable, Sql, Transaction } from '../../../sql/core/db.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { takeJobs } from '../../../workers/runtime/take.ts'
import { pools } from '../../../workers/pools.ts'
import { gate, openQueues } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('turns in a queue', async (t) => {
  const { service, sql, declare, enqueue, start, org } = await openQueues(t)
  const { boss } = service
  const { queue } = service.context
  const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

  /** Numbers of the jobs that a process with `count` slots for one organization takes, in order. */
  async function takeNumbers(from: Queryable, { name }: NumberJob, count: number) {
    const slots = { total: count + 1, free: () => count, held: () => new Map() }
    const { jobs } = await takeJobs(boss, from as Sql, name, slots)
    return jobs.map(({ data }) => (data.payload as { n: number }).n)
  }

  /** Serves the queue one job at a time until it is empty and tells whose they were, in order. */
  async function serve(
    { name }: NumberJob,
    onServed: (orgId: string) => Promise<void> = async () => {},
  ) {
    const served: string[] = []
    for (;;) {
      const [job] = await boss.fetch<{ org_id: string }>(name)
      if (!job) return served
      await boss.complete(name, job)
      served.push(job.data.org_id)
      await onServed(job.data.org_id)
    }
  }

  /** The turn of the organization's next job. */
  async function turnOf(declared: NumberJob, { orgId }: { orgId: string }) {
    return sql.begin(async (tx: Transaction) => {
      const id = await queue.enqueue(tx, declared, { n: 0 }, { orgId })
      const [row] = await tx<{ priority: number }[]>`
        select priority from pgboss.job where name = ${declared.name} and id = ${id}`
      await queue.remove(tx, declared.name, id ? [id] : [])
      return row?.priority ?? NaN
    })
  }

  t.test('a few jobs behind a great many finish early', async (t) => {
    const declared = await declare()
    const [whale, minnow, shrimp] = await Promise.all(
      range(0, 3).map(() => service.makeOrganization()),
    )
    await enqueue(declared, range(0, 3000), whale)
    await enqueue(declared, range(0, 10), minnow)
    await enqueue(declared, range(0, 3), shrimp)
    const places = new Map<string, number>()
    for (let place = 0; ;) {
      const jobs = await boss.fetch<{ org_id: string }>(declared.name, { batchSize: 50 })
      if (jobs.length === 0) break
      for (const { data } of jobs) places.set(data.org_id, ++place)
      await boss.complete(declared.name, jobs)
    }
    t.ok(
      (places.get(minnow?.orgId ?? '') ?? 3013) <= 50,
      `place ${places.get(minnow?.orgId ?? '')}`,
    )
    t.ok((places.get(shrimp?.orgId ?? '') ?? 3013) <= 50)
    t.equal(places.get(whale?.orgId ?? ''), 3013)
  })

  t.test('who keeps adding jobs does not starve who waits', async (t) => {
    const declared = await declare()
    const waiting = await service.makeOrganization()
    await enqueue(declared, range(0, 20))
    await enqueue(declared, range(0, 30), waiting)
    let added = 0
    const served = await serve(declared, async (orgId) => {
      if (orgId === org.orgId && added++ < 100) await enqueue(declared, [added])
    })
    t.ok(served.lastIndexOf(waiting.orgId) <= 62, `last at ${served.lastIndexOf(waiting.orgId)}`)
    t.equal(served.length, 150)
  })

  t.test('who was idle has saved up no turns', async (t) => {
    const declared = await declare()
    const idle = await service.makeOrganization()
    await enqueue(declared, range(0, 60))
    let n = 0
    const served = await serve(declared, async () => {
      if (++n === 30) await enqueue(declared, range(0, 20), idle)
    })
    const shared = served.slice(30, 70)
    t.ok(shared.filter((orgId) => orgId === org.orgId).length >= 19, 'they alternate')
  })

  t.test('one job after the other keeps its order', async (t) => {
    const declared = await declare()
    for (const n of range(0, 12)) await enqueue(declared, [n])
    t.same(await takeNumbers(sql, declared, 12), range(0, 12))
  })

  t.test('a batch keeps its order whatever plan the server finds for it', async (t) => {
    const declared = await declare()
    await queue.transaction(sql, async (tx: Transaction) => {
      for (const n of range(0, 12).reverse()) {
        await queue.enqueue(tx, declared, { n }, { orgId: org.orgId, priority: -n })
      }
    })
    const numbers = await sql.begin(async (tx: Transaction) => {
      await tx`set local enable_nestloop = off`
      return takeNumbers(tx, declared, 12)
    })
    t.same(numbers, range(0, 12))
  })

  t.test('transactions side by side do not share one turn for long', async (t) => {
    const declared = await declare()
    for (let round = 0; round < 5; round++) {
      await Promise.all(range(0, 8).map((n) => enqueue(declared, [n])))
    }
    const turn = await turnOf(declared, org)
    // -40 if nobody met; -5 if each eight had stayed together.
    t.ok(turn <= -10, `the 41st job has turn ${turn}`)
  })

  t.test('begin at 0 in an empty queue, and jobs of later do not count as its first', async (t) => {
    const declared = await declare()
    const other = await service.makeOrganization()
    t.equal(await turnOf(declared, org), 0)
    await enqueue(declared, range(0, 10))
    const served = await boss.fetch(declared.name, { batchSize: 5 })
    await boss.complete(declared.name, served)
    t.equal(await turnOf(declared, other), -5)
    await queue.transaction(sql, (tx: Transaction) =>
      queue.enqueue(
        tx,
        declared,
        { n: 1 },
        { orgId: other.orgId, priority: 0, startAfterSeconds: 900 },
      ),
    )
    t.equal(await turnOf(declared, await service.makeOrganization()), -5)
    t.equal(await turnOf(declared, other), -5, 'nor as the last one of who has it')
  })

  t.test('an interrupted job that goes on before all is no turn of its organization', async (t) => {
    const declared = await declare()
    const other = await service.makeOrganization()
    await enqueue(declared, range(0, 10))
    const served = await boss.fetch(declared.name, { batchSize: 5 })
    await boss.complete(declared.name, served)
    const released = { orgId: other.orgId, priority: RELEASED_PRIORITY }
    await queue.enqueue(sql, declared, { n: 1 }, released)
    t.equal(await turnOf(declared, other), -5)
    t.equal(await turnOf(declared, org), -10)
  })

  t.test('the last slot is left to others while they wait, and only then', async (t) => {
    const declared = await declare()
    const other = await service.makeOrganization()
    const { opened, open } = gate()
    const running: string[] = []
    const work = handler(declared, async (_, run) => {
      running.push(run.orgId)
      await opened
    })
    await enqueue(declared, range(0, 6))
    const first = await start(work, 3)
    await until(() => running.length === 3)
    t.same(running, [org.orgId, org.orgId, org.orgId], 'nobody else waits')
    open()
    await until(() => running.length === 6)
    await first.stop()

    running.length = 0
    const again = gate()
    const held = handler(declared, async (_, run) => {
      running.push(run.orgId)
      await again.opened
    })
    await enqueue(declared, range(0, 6))
    // Later in turn than all of the first one's jobs, and yet it gets a slot.
    await queue.transaction(sql, (tx: Transaction) =>
      queue.enqueue(tx, declared, { n: 1 }, { orgId: other.orgId, priority: -500 }),
    )
    await start(held, 3)
    await until(() => running.length === 3)
    t.same(running.sort(), [org.orgId, org.orgId, other.orgId].sort())
    again.open()
    await until(() => running.length === 7)
  })

  t.test('a build waits only for those that run, however many another one has', async (t) => {
    const declared = await declare()
    const slots = pools['datasets']?.concurrency
    t.equal(slots, 2)
    const other = await service.makeOrganization()
    const running: { orgId: string; end: () => void }[] = []
    const work = handler(declared, async (_, run) => {
      const { opened, open } = gate()
      running.push({ orgId: run.orgId, end: open })
      await opened
    })
    const owners = () => running.map(({ orgId }) => orgId)

    await enqueue(declared, range(0, 5))
    await enqueue(declared, [0], other)
    await start(work, slots)
    await until(() => running.length === 2)
    t.same(owners(), [org.orgId, other.orgId], 'the later one is among the first two')

    running[1]?.end()
    await until(() => running.length === 3)
    t.same(owners().slice(2), [org.orgId], 'both slots are one organization’s while it is alone')
    await enqueue(declared, [1], other)
    running[0]?.end()
    await until(() => running.length === 4)
    t.same(owners().slice(3), [other.orgId], 'the next slot is the other one’s')
    for (const at of range(2, 5)) {
      await until(() => running.length > at)
      running[at]?.end()
    }
  })
})
