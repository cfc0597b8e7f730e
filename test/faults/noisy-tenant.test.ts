import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { handler } from '../../workers/runtime/handler.ts'
import { openQueues } from '../support/queues.ts'
import { until } from '../support/until.ts'
import { LONG } from './stage.ts'
import { checkPace } from './pace.ts'

const NOISE = LONG ? 10_000 : 1500
const WORK_MS = 20

t.test('F14: a few jobs behind a noisy tenant', async (t) => {
  const queues = await openQueues(t)
  const { service, sql } = queues
  const small = await service.makeOrganization()
  const declared = await queues.declare()
  const waits: number[] = []
  await queues.start(
    handler(declared, async ({ n }, { orgId }) => {
      if (orgId === small.orgId) waits.push(Date.now() - n)
      await setTimeout(WORK_MS)
    }),
  )
  const base = Date.now() - 1
  /** Waits of ten jobs that come in one after the other. */
  async function measure() {
    waits.length = 0
    for (let i = 0; i < 10; i++) {
      await queues.enqueue(declared, [Date.now() - base], small)
      await setTimeout(WORK_MS)
    }
    await until(() => waits.length === 10)
    return waits.map((wait) => wait - base).sort((a, b) => a - b)[9] as number
  }

  const idle = await measure()
  for (let made = 0; made < NOISE; made += 500) {
    await queues.enqueue(
      declared,
      Array.from({ length: 500 }, () => 0),
    )
  }
  const busy = await measure()
  const [left] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job where name = ${declared.name} and state < 'active'`
  t.ok((left?.n ?? 0) > NOISE / 4, `${left?.n} of the noisy tenant still wait`)
  // On an idle queue a job may be begun within a millisecond or two.
  const floor = Math.max(idle, 2 * WORK_MS)
  checkPace(t, busy / 1000, (3 * floor) / 1000, 'p95 wait of the small tenant')
})
